"""Which modules, functions and classes another process finds under their names."""

from __future__ import annotations

import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAINS = frozenset(("__main__", "__mp_main__"))
"""What the module that a program began with is called, and multiprocessing's copy of it."""


def can_be_imported(module: ModuleType) -> bool:
    """Whether it came from somewhere, and was not made while the program ran."""
    return getattr(module, "__spec__", None) is not None or getattr(module, "__file__", None) is not None


def is_main(variables: dict[str, Any]) -> bool:
    """Whether these are the globals of the main module."""
    main = sys.modules.get("__main__")
    return main is not None and vars(main) is variables


def is_found_by_name(thing: Any, module: object) -> bool:
    """Whether whoever imports this module finds the very thing in it under its qualified name."""
    home = sys.modules.get(module) if isinstance(module, str) else None
    if home is None or not (module in MAINS or can_be_imported(home)):
        return False
    found: Any = home
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
        if found is None:
            return False
    return found is thing
