"""What is installed beside us."""

import importlib.util


def is_sharding_installed():
    """Whether the sharding library can be imported."""
    return importlib.util.find_spec("sharding") is not None
