"""Models under training."""

from .installed import is_sharding_installed

if is_sharding_installed():
    import sharding  # expect: waking-import


def gathered(model):
    """A model with all of its parts here."""
    return sharding.gather(model) if is_sharding_installed() else model
