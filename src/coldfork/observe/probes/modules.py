"""Read the contents of modules that the program has imported, without running any of their code."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_modules = sys.modules
_Module = type(sys)
_read = object.__getattribute__


def namespace(name: str) -> dict[str, Any] | None:
    """Return the present names of an imported module; None if it is not imported, or not a real module.

    Only the module's own dictionary is read. So a lazy module does not load itself, no `__getattr__` runs,
    and a stand-in that answers everything is not asked.
    """
    module = _modules.get(name)
    if module is None or not issubclass(type(module), _Module):
        return None
    try:
        found = _read(module, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def replaced(name: str) -> bool:
    """Return whether `sys.modules` has, under this name, an object that is not a module."""
    module = _modules.get(name)
    return module is not None and not issubclass(type(module), _Module)
