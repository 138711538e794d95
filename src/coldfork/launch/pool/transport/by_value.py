"""Pickles by value what another process cannot import: lambdas, nested functions, what a notebook defines.

What comes out is loaded with `pickle.loads`, in a process that can import coldfork and runs the same Python.

- A function brings the globals that its code refers to, and those of one pickle share them. Code that finds
  its globals by their text (`globals()`, `eval`) does not say which it needs. A lambda or nested function of
  a module that can be imported uses that module's globals as they are there, like the functions beside it.
- A class is copied with its attributes; neither its metaclass nor its decorators run again. It arrives as one
  class however often it is sent, and its instances come home as instances of the original.
- Modules travel by name, and everything else as pickle has it.
"""

from __future__ import annotations

import abc
import io
import marshal
import pickle
import sys
from enum import Enum, EnumMeta
from functools import _lru_cache_wrapper, cached_property
from types import CellType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from coldfork.launch.pool.transport.copies import arrivals
from coldfork.launch.pool.transport.copies.attributes import (
    attributes_of,
    attributes_of_class,
    builtin_type,
    fixtures,
    sentinel_of_dataclasses,
)
from coldfork.launch.pool.transport.copies.code_names import imported_parts, names_in
from coldfork.launch.pool.transport.copies.module_names import (
    MAINS,
    can_be_imported,
    is_found_by_name,
    is_main,
)
from coldfork.launch.pool.transport.copies.origins import is_simple, origins, sender
from coldfork.launch.pool.transport.copies.places import Place
from coldfork.launch.pool.transport.copies.type_variables import described, has_identity, is_type_variable
from coldfork.launch.pool.transport.reducers import reducers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_GIVEN = frozenset(("__builtins__", "__loader__", "__name__", "__spec__"))
"""Globals that every module is given by Python itself."""
_HEAP_TYPE = 1 << 9


def dumps(
    value: object,
    buffer_callback: Callable[[pickle.PickleBuffer], object] | None = None,
    *,
    main_by_value: bool,
    onward: bool = False,
) -> bytes:
    """Pickle `value` with protocol 5, by value where another process could not import it.

    `main_by_value` says that the functions and classes of the main module travel by value too, because there
    is no file that the other process could import them from. A class that came from another process goes back
    as a reference to the original; with `onward`, which is for a third process, it is copied there as well.
    """
    file = io.BytesIO()
    pickler = Sender(file, buffer_callback, main_by_value=main_by_value, onward=onward)
    try:
        pickler.dump(value)
    except Exception as error:
        from coldfork.launch.pool.transport.copies.refusals import explained

        explanation = explained(pickler)
        if explanation is None:
            raise
        raise explanation from error
    return file.getvalue()


class Sender(pickle.Pickler):
    """A pickler that takes functions and classes apart where they could not be imported."""

    def __init__(
        self,
        file: io.BytesIO,
        buffer_callback: Callable[[pickle.PickleBuffer], object] | None,
        *,
        main_by_value: bool,
        onward: bool,
    ) -> None:
        super().__init__(file, 5, buffer_callback=buffer_callback)
        self.main_by_value = main_by_value
        self.onward = onward
        self.dispatch_table = reducers()
        self.taken_apart: list[Any] = []
        """The functions and classes that travel by value, in their order; for who explains a failure."""
        self.last: Any = None
        """What was looked at last, which is what cannot be pickled when that fails."""
        self._globals: dict[int, Place] = {}
        self._cells: dict[int, Place] = {}
        self._fixtures = fixtures()

    def like_this(self, file: io.BytesIO) -> Sender:
        """Another pickler of the same kind, which keeps what can be kept out of the file out of it."""
        return Sender(file, lambda buffer: None, main_by_value=self.main_by_value, onward=self.onward)

    def reducer_override(self, value: Any) -> Any:
        """How `value` is put together again; NotImplemented for what pickle does well itself."""
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
            return arrivals.fixture, self._fixtures[id(value)]
        if kind.__module__ == "dataclasses":
            return sentinel_of_dataclasses(value)
        if is_type_variable(value):
            return self._type_variable(value)
        return NotImplemented

    def is_by_value(self, thing: Any) -> bool:
        """Whether the other process could not import it under its name."""
        module = getattr(thing, "__module__", None)
        if module in MAINS and self.main_by_value:
            return True
        return not is_found_by_name(thing, module)

    # --- functions -----------------------------------------------------------------------------------------

    def function(self, value: FunctionType) -> Any:
        """A function by value: bare at first, so that what it refers to may refer to it."""
        if not self.is_by_value(value):
            return NotImplemented
        self.taken_apart.append(value)
        names = names_in(value.__code__)
        place = self._place_of_globals(value.__globals__)
        cells = value.__closure__ or ()
        places = tuple(map(self._place_of_cell, cells))
        state = (
            *self._globals_of(value),
            self._modules_meant(value, names.words),
            [(p, c.cell_contents) for p, c in zip(places, cells, strict=True) if _is_news(p, c)],
            attributes_of(value),
            value.__dict__,
        )
        made = (value.__code__, place, value.__name__, places)
        return arrivals.make_function, made, state, None, None, arrivals.fill_function

    def brings_globals(self, function: FunctionType) -> bool:
        """Whether its globals travel, which they do not where its module can be imported."""
        return self._place_of_globals(function.__globals__).reduced[0] is not arrivals.imported_globals

    def _globals_of(self, function: FunctionType) -> tuple[Any, ...]:
        names = names_in(function.__code__)
        if not self.brings_globals(function):
            return None, False, {}, frozenset(), frozenset()
        variables = function.__globals__
        sent = {n: variables[n] for n in names.used if n in variables and n not in _GIVEN}
        sent.update((n, variables[n]) for n in names.assigned if is_simple(variables.get(n, names)))
        main = is_main(variables)
        return sender() if main else None, main and not self.main_by_value, sent, names.used, names.assigned

    def _modules_meant(self, function: FunctionType, words: frozenset[str]) -> tuple[str, ...]:
        """The modules that `package.module` in the code means, where only the package is a global."""
        variables = function.__globals__
        inside = [cell.cell_contents for cell in function.__closure__ or () if _has_content(cell)]
        packages = {
            v.__name__
            for v in (*(variables.get(word) for word in words), *inside)
            if type(v) is ModuleType and hasattr(v, "__path__")
        }
        return tuple(part for package in sorted(packages) for part in sorted(imported_parts(package, words)))

    def _place_of_globals(self, variables: dict[str, Any]) -> Place:
        place = self._globals.get(id(variables))
        if place is None:
            name = variables.get("__name__")
            module = sys.modules.get(name) if isinstance(name, str) else None
            theirs = module is not None and vars(module) is variables and name not in MAINS
            if module is not None and theirs and can_be_imported(module):
                place = Place((arrivals.imported_globals, (name,)))
            else:
                package = variables.get("__package__")
                place = Place((arrivals.own_globals, (name, package if isinstance(package, str) else None)))
            self._globals[id(variables)] = place
        return place

    def _place_of_cell(self, cell: CellType) -> Place:
        place = self._cells.get(id(cell))
        if place is None:
            place = self._cells[id(cell)] = Place((arrivals.make_cell, ()))
        return place

    def cell(self, value: CellType) -> Any:
        """A variable of an enclosing function, met outside of the functions that share it."""
        place = self._place_of_cell(value)
        if not _is_news(place, value):
            return arrivals.itself, (place,)
        return arrivals.itself, (place,), value.cell_contents, None, None, arrivals.fill_cell

    def cached_function(self, value: Any) -> Any:
        """A function behind `functools.lru_cache`, which arrives with an empty cache."""
        if not self.is_by_value(value):
            return NotImplemented
        options = value.cache_parameters()
        own = {name: item for name, item in value.__dict__.items() if name != "cache_parameters"}
        made = (value.__wrapped__, options["maxsize"], options["typed"])
        return arrivals.make_lru_cache, made, own, None, None, arrivals.fill_attributes

    # --- classes -------------------------------------------------------------------------------------------

    def _class(self, value: type) -> Any:
        if not value.__flags__ & _HEAP_TYPE:
            return builtin_type(value)
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
            registered = [c for c in (reference() for reference in references) if c is not None]
        state = (attributes_of_class(value), registered)
        return arrivals.make_class, made, state, None, None, arrivals.fill_class

    def _goes_home(self, thing: Any) -> bool:
        """Whether it is a copy, and a reference to the original will do."""
        return not self.onward and origins().is_copy(thing)

    def _member(self, value: Enum) -> Any:
        enumeration = type(value)
        name = value.__dict__.get("_name_")
        if enumeration.__dict__["_member_map_"].get(name) is not value or not self.is_by_value(enumeration):
            return NotImplemented
        if self._goes_home(enumeration):
            return NotImplemented
        arguments = value.__getnewargs__() if hasattr(value, "__getnewargs__") else ()
        made = (enumeration, name, arguments)
        own = dict(value.__dict__)
        if own.get("_inverted_") is not None:
            own["_inverted_"] = None  # remembered by flags, and no member itself
        return arrivals.make_member, made, own, None, None, arrivals.fill_attributes

    def _type_variable(self, value: Any) -> Any:
        module = sys.modules.get(value.__module__)
        in_main = value.__module__ in MAINS
        if getattr(module, value.__name__, None) is value and not (in_main and self.main_by_value):
            return NotImplemented
        if not has_identity(value):
            return arrivals.make_type_variable, (None, *described(value))
        identity = origins().identity(value)
        if self._goes_home(value):
            return arrivals.known_class, (identity, value.__name__)
        return arrivals.make_type_variable, (identity, *described(value))

    # --- what pickle does not know -------------------------------------------------------------------------

    def code(self, value: CodeType) -> Any:
        """The code of a function, once for all functions that it makes."""
        return arrivals.make_code, (marshal.dumps(value),)

    def place(self, value: Place) -> Any:
        """The globals or the variable that functions share."""
        return value.reduced

    def module(self, value: ModuleType) -> Any:
        """A module by its name."""
        name = value.__name__
        if sys.modules.get(name) is not value or not (name in MAINS or can_be_imported(value)):
            raise pickle.PicklingError(f"the module {name} was made at run time and cannot be imported")
        from importlib import import_module

        return import_module, (name,)

    def method(self, value: MethodType) -> Any:
        """A bound method, which pickle would look for in an object that may have none yet."""
        function = value.__func__
        owner = value.__self__ if isinstance(value.__self__, type) else type(value.__self__)
        if self._goes_home(owner):
            return NotImplemented
        by_value = isinstance(function, FunctionType) and self.is_by_value(function)
        if not by_value and getattr(value.__self__, getattr(value, "__name__", ""), None) == value:
            return NotImplemented
        return MethodType, (function, value.__self__)


def _has_content(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _is_news(place: Place, cell: CellType) -> bool:
    """Whether a variable has a value that is not on its way."""
    if place.is_filled or not _has_content(cell):
        return False
    place.is_filled = True
    return True


_REDUCERS: Any = MappingProxyType(
    {
        CellType: Sender.cell,
        CodeType: Sender.code,
        FunctionType: Sender.function,
        MethodType: Sender.method,
        ModuleType: Sender.module,
        Place: Sender.place,
        _lru_cache_wrapper: Sender.cached_function,
        MappingProxyType: lambda self, value: (arrivals.make_mapping_proxy, (dict(value),)),
        WeakKeyDictionary: lambda self, value: (WeakKeyDictionary, (dict(value),)),
        WeakSet: lambda self, value: (WeakSet, (list(value),)),
        WeakValueDictionary: lambda self, value: (WeakValueDictionary, (dict(value),)),
        cached_property: lambda self, value: (
            cached_property,
            (value.func,),
            {"attrname": value.attrname},
            None,
            None,
            arrivals.fill_attributes,
        ),
        classmethod: lambda self, value: (classmethod, (value.__func__,)),
        property: lambda self, value: (property, (value.fget, value.fset, value.fdel, value.__doc__)),
        staticmethod: lambda self, value: (staticmethod, (value.__func__,)),
    }
)
