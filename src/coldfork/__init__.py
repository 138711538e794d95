"""Keep the accelerator cold until the right process wakes it, and name the line that woke it too early."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork import virtual as virtual
    from coldfork.model.errors import ColdforkError as ColdforkError

__version__ = "0.1.0"

__all__ = ["ColdforkError", "__version__", "virtual"]

_ROOMS = frozenset({"virtual"})
_HOME_OF = {"ColdforkError": "coldfork.model.errors"}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `import coldfork` stays cheap."""
    import importlib

    if name in _ROOMS:
        return importlib.import_module(f"coldfork.{name}")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'coldfork' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
