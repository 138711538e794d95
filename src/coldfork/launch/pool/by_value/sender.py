"""Pickle by value what another process cannot import: lambdas, nested functions, a notebook's definitions.

The result is loaded with `pickle.loads`, in a process that can import coldfork and runs the same Python.

- A function brings the globals that its code refers to, and the functions of one pickle share them. Globals
  that code finds by text (`globals()`, `eval`) do not travel. A lambda or nested function of a module that
  can be imported uses the receiver's globals of that module, like the functions beside it.
- A class is copied with its attributes; neither its metaclass nor its decorators run again. It arrives as one
  class however often it is sent, and its instances come home as instances of the original.
- Modules travel by name, and everything else as pickle does it.
"""

from __future__ import annotations

import abc
import io
import marshal
import os
import pickle
import sys
from enum import Enum, EnumMeta
from functools import _lru_cache_wrapper, cache, cached_property
from importlib import import_module
from types import CellType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from coldfork.launch.pool.by_value import arrivals, parts
from coldfork.launch.pool.by_value.arrivals import is_simple, origins
from coldfork.launch.pool.by_value.parts import MAINS, can_be_imported, names_in
from coldfork.launch.pool.payload import reducers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Apart = Callable[[pickle.PickleBuffer], object]

_GIVEN = frozenset(("__builtins__", "__loader__", "__name__", "__spec__"))
"""Globals that Python itself gives every module."""
_HEAP_TYPE = 1 << 9


def dumps(value: object, apart: Apart | None = None, *, main_by_value: bool, onward: bool = False) -> bytes:
    """Pickle `value` with protocol 5; functions and classes that cannot be imported elsewhere go by value.

    With `main_by_value`, functions and classes of the main module travel by value too, because there is no
    file that the other process could import them from. A class that came from another process goes back to it
    as a reference to the original; with `onward`, which is for sending to a third process, it is copied.
    """
    file = io.BytesIO()
    pickler = Sender(file, apart, main_by_value, onward)
    try:
        pickler.dump(value)
    except Exception as error:
        from coldfork.launch.pool.by_value.refusals import explained

        explanation = explained(pickler)
        if explanation is None:
            raise
        raise explanation from error
    return file.getvalue()


class Sender(pickle.Pickler):
    """A pickler that takes functions and classes apart if they cannot be imported elsewhere."""

    def __init__(self, file: io.BytesIO, apart: Apart | None, main_by_value: bool, onward: bool) -> None:
        super().__init__(file, 5, buffer_callback=apart)
        self.main_by_value = main_by_value
        self.onward = onward
        self.dispatch_table = reducers()
        self.taken_apart: list[Any] = []
        """The functions and classes that travel by value, in order; `explained` needs them."""
        self.last: Any = None
        """The last object examined; if pickling fails, it is the one that cannot be pickled."""
        self._globals: dict[int, _Globals] = {}
        self._sent: dict[int, CellType] = {}
        """The cells of enclosing functions whose values are already part of the pickle."""
        own = ((sys, "stdin"), (sys, "stdout"), (sys, "stderr"), (os, "environ"))
        self._fixtures = {id(getattr(module, name)): (module, name) for module, name in own}
        """Objects that exist once in every process, by identity, with the module and the name under which
        each is found.
        """

    def like_this(self) -> Sender:
        """Return a pickler with the same settings, whose output is discarded."""
        return Sender(io.BytesIO(), lambda buffer: None, self.main_by_value, self.onward)

    def reducer_override(self, value: Any) -> Any:
        """Return how to rebuild `value`; `NotImplemented` leaves it to pickle."""
        self.last = value
        kind = type(value)
        reduce = _REDUCERS.get(kind)
        if reduce is not None:
            return reduce(self, value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(kind, EnumMeta):
            return self._member(value)
        if issubclass(kind, tuple) and kind.__reduce__ is object.__reduce__ and self.is_by_value(kind):
            return arrivals.make_tuple, (kind, tuple(value)), getattr(value, "__dict__", None)
        if id(value) in self._fixtures:
            return getattr, self._fixtures[id(value)]
        if kind.__module__ == "dataclasses":
            return parts.sentinel_of_dataclasses(value)
        if parts.is_type_variable(value):
            return self._type_variable(value)
        return NotImplemented

    def is_by_value(self, thing: Any) -> bool:
        """Return whether the other process cannot import `thing` under its name."""
        module = getattr(thing, "__module__", None)
        if module in MAINS and self.main_by_value:
            return True
        return not parts.is_found_by_name(thing, module)

    # --- functions -----------------------------------------------------------------------------------------

    def function(self, value: FunctionType) -> Any:
        """Reduce a function by value: an empty function first, because its objects may refer back to it."""
        if not self.is_by_value(value):
            return NotImplemented
        self.taken_apart.append(value)
        cells = value.__closure__ or ()
        state = (
            *self._globals_of(value),
            self._modules_meant(value),
            [(cell, cell.cell_contents) for cell in cells if self._is_news(cell)],
            parts.attributes_of(value),
            value.__dict__,
        )
        made = (value.__code__, self._shared_globals(value.__globals__), value.__name__, cells)
        return arrivals.make_function, made, state, None, None, arrivals.fill_function

    def brings_globals(self, function: FunctionType) -> bool:
        """Return whether a function's globals travel; they do not if its module can be imported."""
        return self._shared_globals(function.__globals__).reduced[0] is not arrivals.imported_globals

    def _globals_of(self, function: FunctionType) -> tuple[Any, ...]:
        if not self.brings_globals(function):
            return None, False, {}, frozenset(), frozenset()
        used, assigned, _ = names_in(function.__code__)
        variables = function.__globals__
        sent = {n: variables[n] for n in used if n in variables and n not in _GIVEN}
        sent.update((n, variables[n]) for n in assigned if n in variables and is_simple(variables[n]))
        main = variables is arrivals.main_module()
        return _called(os.getpid()) if main else None, main and not self.main_by_value, sent, used, assigned

    def _modules_meant(self, function: FunctionType) -> list[str]:
        """Return the submodules that the code uses as `package.module`, if only the package is a global."""
        words = names_in(function.__code__)[2]
        inside = (cell.cell_contents for cell in function.__closure__ or () if parts.has_content(cell))
        packages = {
            value.__name__
            for value in (*(function.__globals__.get(word) for word in words), *inside)
            if type(value) is ModuleType and hasattr(value, "__path__")
        }
        return [part for package in sorted(packages) for part in sorted(parts.imported_parts(package, words))]

    def _shared_globals(self, variables: dict[str, Any]) -> _Globals:
        shared = self._globals.get(id(variables))
        if shared is None:
            name, package = variables.get("__name__"), variables.get("__package__")
            module = sys.modules.get(name) if isinstance(name, str) and name not in MAINS else None
            if module is not None and vars(module) is variables and can_be_imported(module):
                shared = _Globals((arrivals.imported_globals, (name,)))
            else:
                own = (name, package if isinstance(package, str) else None)
                shared = _Globals((arrivals.own_globals, own))
            self._globals[id(variables)] = shared
        return shared

    def cell(self, value: CellType) -> Any:
        """Reduce a variable of an enclosing function; the first function that uses it carries its value."""
        made = (arrivals.make_cell, ())
        return (*made, (None, {"cell_contents": value.cell_contents})) if self._is_news(value) else made

    def _is_news(self, cell: CellType) -> bool:
        """Return whether a variable's value has not been sent yet, and mark it as sent."""
        if id(cell) in self._sent or not parts.has_content(cell):
            return False
        self._sent[id(cell)] = cell
        return True

    def cached_function(self, value: Any) -> Any:
        """Reduce a function behind `functools.lru_cache`, which arrives with an empty cache."""
        if not self.is_by_value(value):
            return NotImplemented
        options = value.cache_parameters()
        own = {name: item for name, item in value.__dict__.items() if name != "cache_parameters"}
        made = (value.__wrapped__, options["maxsize"], options["typed"])
        return arrivals.make_lru_cache, made, own

    # --- classes -------------------------------------------------------------------------------------------

    def _class(self, value: type) -> Any:
        if not value.__flags__ & _HEAP_TYPE:
            return parts.builtin_type(value)
        if not self.is_by_value(value):
            return NotImplemented
        identity = origins().identity(value)
        if self._goes_home(value):
            return arrivals.known_class, (identity, value.__qualname__)
        self.taken_apart.append(value)
        namespace: dict[str, Any] = {"__module__": value.__module__, "__qualname__": value.__qualname__}
        if "__slots__" in value.__dict__:
            slots = value.__dict__["__slots__"]
            namespace["__slots__"] = slots if isinstance(slots, str | dict) else tuple(slots)
        made = (identity, type(value), value.__name__, value.__bases__, namespace)
        registered: list[type] = []
        if "_abc_impl" in value.__dict__:
            references = abc._get_dump(value)[0]  # type: ignore[attr-defined]
            registered = [known for reference in references if (known := reference()) is not None]
        state = (parts.attributes_of_class(value), registered)
        return arrivals.make_class, made, state, None, None, arrivals.fill_class

    def _goes_home(self, thing: Any) -> bool:
        """Return whether the receiver has the original of this copy, so that a reference is enough."""
        return not self.onward and origins().is_copy(thing)

    def _member(self, value: Enum) -> Any:
        kind, name = type(value), value.__dict__.get("_name_")
        is_member = kind.__dict__["_member_map_"].get(name) is value
        if not is_member or not self.is_by_value(kind) or self._goes_home(kind):
            return NotImplemented
        made = (kind, name, value.__getnewargs__() if hasattr(value, "__getnewargs__") else ())
        own = dict(value.__dict__)
        if own.get("_inverted_") is not None:
            own["_inverted_"] = None  # a cache of `enum.Flag` that must not travel
        return arrivals.make_member, made, own, None, None, arrivals.fill_attributes

    def _type_variable(self, value: Any) -> Any:
        home = sys.modules.get(value.__module__)
        is_found = getattr(home, value.__name__, None) is value
        if is_found and not (value.__module__ in MAINS and self.main_by_value):
            return NotImplemented
        if type(value).__name__ == "TypeAliasType":
            # Type aliases need no identity: copies with the same meaning are interchangeable.
            return arrivals.make_type_variable, (None, *parts.described(value))
        identity = origins().identity(value)
        if self._goes_home(value):
            return arrivals.known_class, (identity, value.__name__)
        return arrivals.make_type_variable, (identity, *parts.described(value))

    # --- beyond pickle -------------------------------------------------------------------------------------

    def module(self, value: ModuleType) -> Any:
        """Reduce a module to its name."""
        name = value.__name__
        if sys.modules.get(name) is not value or not (name in MAINS or can_be_imported(value)):
            raise pickle.PicklingError(f"the module {name} was made at run time and cannot be imported")
        return import_module, (name,)

    def method(self, value: MethodType) -> Any:
        """Reduce a bound method, which pickle would look up on an object that may still be incomplete."""
        function = value.__func__
        owner = value.__self__ if isinstance(value.__self__, type) else type(value.__self__)
        if self._goes_home(owner):
            return NotImplemented
        by_value = isinstance(function, FunctionType) and self.is_by_value(function)
        if not by_value and getattr(value.__self__, getattr(value, "__name__", ""), None) == value:
            return NotImplemented
        return MethodType, (function, value.__self__)


class _Globals:
    """A placeholder for globals that the functions of one pickle share."""

    def __init__(self, reduced: tuple[Any, ...]) -> None:
        self.reduced = reduced


@cache
def _called(pid: int) -> str:
    """Return the name by which others know this process; a forked child is another sender and gets a name of
    its own.
    """
    return f"{pid}-{os.urandom(8).hex()}"


_REDUCERS: Any = MappingProxyType(
    {
        CellType: Sender.cell,
        CodeType: lambda self, value: (marshal.loads, (marshal.dumps(value),)),
        FunctionType: Sender.function,
        MethodType: Sender.method,
        ModuleType: Sender.module,
        _Globals: lambda self, value: value.reduced,
        _lru_cache_wrapper: Sender.cached_function,
        **dict.fromkeys(
            (MappingProxyType, WeakKeyDictionary, WeakValueDictionary),
            lambda self, value: (type(value), (dict(value),)),
        ),
        WeakSet: lambda self, value: (WeakSet, (list(value),)),
        cached_property: lambda self, value: (cached_property, (value.func,), {"attrname": value.attrname}),
        **dict.fromkeys((classmethod, staticmethod), lambda self, value: (type(value), (value.__func__,))),
        property: lambda self, value: (property, (value.fget, value.fset, value.fdel, value.__doc__)),
    }
)
