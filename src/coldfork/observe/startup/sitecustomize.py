"""Lets coldfork into a Python process that was started to be watched, before the program runs.

The folder of this file stands on PYTHONPATH only in such processes. Python itself then starts the program, so
nothing about the start has to be imitated. The site's own `sitecustomize` runs afterwards, as it would have.
"""

from __future__ import annotations

import sys

_FOLDER = __file__.rpartition("/")[0]


def _let_in() -> None:
    """Load coldfork from where this file lies, without adding to the program's path."""
    from importlib.machinery import PathFinder

    if "coldfork" not in sys.modules:
        root = _FOLDER.rpartition("/")[0].rpartition("/")[0].rpartition("/")[0]
        spec = PathFinder.find_spec("coldfork", [root])
        if spec is None or spec.loader is None:
            return
        # By hand, and by the name that every module of the package will ask for.
        module = type(sys)("coldfork")
        module.__spec__ = spec
        module.__loader__ = spec.loader
        module.__file__ = spec.origin
        module.__package__ = "coldfork"
        module.__path__ = spec.submodule_search_locations or []
        sys.modules["coldfork"] = module
        spec.loader.exec_module(module)
    from coldfork.observe.bootstrap import begin

    begin(_FOLDER)


def _leave() -> None:
    """Take this folder off the path again."""
    sys.path[:] = [entry for entry in sys.path if entry != _FOLDER]
    sys.path_importer_cache.pop(_FOLDER, None)


def _make_way() -> None:
    """Run the site's own module of this name in place of this one; without one, say that there is none."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        # `site` takes exactly this for a machine without the module.
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")
    module = type(sys)("sitecustomize")
    module.__spec__ = spec
    module.__loader__ = spec.loader
    module.__file__ = spec.origin
    module.__dict__["__cached__"] = spec.cached
    module.__package__ = ""
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_leave()
try:
    _let_in()
except Exception as error:
    sys.stderr.write(f"coldfork: this process is not watched: {type(error).__name__}: {error}\n")
_make_way()
