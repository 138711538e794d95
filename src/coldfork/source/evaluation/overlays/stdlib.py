"""Models of the standard library: imports by name, environment variables, decorators and paths. Also the
table of all models.
"""

from __future__ import annotations

import posixpath

from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter, Model
from coldfork.source.evaluation.objects.assignment import set_environment
from coldfork.source.evaluation.objects.classes import linear
from coldfork.source.evaluation.objects.exports import module_object
from coldfork.source.evaluation.objects.import_edges import missing, presence_of, require
from coldfork.source.evaluation.objects.protocols import awaited, read_annotations
from coldfork.source.evaluation.overlays.builtin_functions import BUILTINS
from coldfork.source.evaluation.overlays.child_processes import LAUNCHERS
from coldfork.source.evaluation.overlays.iteration import ITERATION
from coldfork.source.evaluation.overlays.processes import PROCESSES
from coldfork.source.evaluation.running import being_set
from coldfork.source.files.site_packages import normalised
from coldfork.source.values.kinds import (
    NONE,
    RELEASE,
    TRUTHY,
    UNKNOWN,
    ClassRef,
    Const,
    External,
    Function,
    Keywords,
    Lazy,
    Mapping,
    Partial,
    Sequence,
    Union,
    Value,
    Values,
)
from coldfork.source.values.texts import PartialText, ending
from coldfork.source.values.unions import union


def _first(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    return positional[0] if positional else None


def _transparent(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model a decorator that returns the decorated function; called with options, it returns the
    decorator.
    """
    return positional[0] if positional and isinstance(positional[0], (Function, ClassRef, Union)) else None


def _partial_method(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    return Lazy("method", (positional[0], positional[1:], keywords)) if positional else None


def _import_module(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `importlib.import_module` and `__import__`, called with a known name."""
    name = positional[0] if positional else keywords.get("name")
    package = positional[1] if len(positional) > 1 else keywords.get("package")
    if isinstance(name, Union):
        return ev.for_each_alternative(frame, name, lambda single: _import_one(ev, frame, single, package))
    return _import_one(ev, frame, name, package)


def _import_one(ev: Interpreter, frame: Frame, name: Value | None, package: Value | None) -> Value:
    if not isinstance(name, Const) or not isinstance(name.value, str) or not name.value:
        return UNKNOWN
    dotted = name.value
    if dotted.startswith("."):
        if not isinstance(package, Const) or not isinstance(package.value, str):
            return UNKNOWN
        level = len(dotted) - len(dotted.lstrip("."))
        base = package.value
        for _ in range(level - 1):
            base = base.rpartition(".")[0]
        dotted = f"{base}.{dotted[level:]}".rstrip(".")
    ev.record_import(frame, dotted)
    return module_object(ev, dotted)


def _dunder_import(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if not positional:
        return UNKNOWN
    imported = _import_one(ev, frame, positional[0], None)
    whole = len(positional) > 3 or "fromlist" in keywords
    if whole or not isinstance(positional[0], Const):
        return imported
    return module_object(ev, str(positional[0].value).partition(".")[0])


def _find_spec(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `find_spec`: it succeeds if the source is at hand or the code needs the module; else it is
    unknown.
    """
    name = positional[0] if positional else None
    if isinstance(name, Const) and isinstance(name.value, str) and name.value:
        if "." in name.value:
            ev.record_import(frame, name.value.rpartition(".")[0])  # finding a submodule imports its package
        presence = presence_of(ev, frame.module, name.value)
        if presence.sure:
            return TRUTHY
        if presence.required:
            return Union(((TRUTHY, None), (NONE, missing(name.value, required=True))))
    return UNKNOWN


def _version(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `importlib.metadata.version` for distributions in the environment; without any, the call
    fails.
    """
    name = positional[0] if positional else None
    if isinstance(name, Const) and isinstance(name.value, str) and name.value:
        known = ev.program.versions.get(normalised(name.value))
        if known is not None:
            return Const(known)
        package = name.value.replace("-", "_")
        presence = presence_of(ev, frame.module, package)
        if ev.failing and not presence.sure:
            require(ev, frame, missing(package, presence.required), "PackageNotFoundError")
    return RELEASE


def _entry_points(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Return the entry points declared in the environment, as objects with a `load` method."""
    group = keywords.get("group")
    if not isinstance(group, Const):
        return None
    found = ev.program.entry_points(str(group.value))
    made = [External(f"importlib.metadata.EntryPoint[{target}]") for _, target in found]
    return Sequence("tuple", tuple(made))


def _getenv(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `os.getenv`, which returns the default unless the followed code has set the variable."""
    if not positional or not isinstance(positional[0], Const):
        return UNKNOWN
    name = str(positional[0].value)
    default = positional[1] if len(positional) > 1 else keywords.get("default", NONE)
    if name in ev.environment.values:
        value = ev.environment.values[name]
        return UNKNOWN if value is None else Const(value)
    return Union(((default, None), (UNKNOWN, being_set(name)))) if not isinstance(default, Union) else default


def _loaded(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `sys.modules.get`, which returns the module, or the default if it is not imported yet."""
    name = positional[0] if positional else None
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return UNKNOWN
    default = positional[1] if len(positional) > 1 else NONE
    return union([module_object(ev, name.value), default])


def _setenv(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if len(positional) > 1 and isinstance(positional[0], Const):
        name = str(positional[0].value)
        found = _getenv(ev, frame, positional, keywords)
        if ev.environment.values.get(name) is None:
            set_environment(ev, frame, name, positional[1])
        return found
    return UNKNOWN


def _update(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    given = positional[0] if positional else None
    for key, value in given.items.items() if isinstance(given, Mapping) else ():
        if isinstance(key, Const):
            set_environment(ev, frame, str(key.value), value)
    for name, value in keywords.items():
        if name is not None:
            set_environment(ev, frame, name, value)
    return NONE


def _exit(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    raise Raised("SystemExit")


def _exec_known(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model a function such as `Context.run`, which calls its first argument with the others."""
    return ev.call(frame, positional[0], positional[1:], keywords) if positional else None


def _annotations(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model functions that return the annotations of a class, including its bases, or of a function."""
    for value in positional[:1]:
        for one in linear(ev, value) if isinstance(value, ClassRef) else (value,):
            read_annotations(ev, frame, one)
    return UNKNOWN


LIBRARY: dict[str, Model] = {
    "typing.get_type_hints": _annotations,
    "typing_extensions.get_type_hints": _annotations,
    "inspect.get_annotations": _annotations,
    "annotationlib.get_annotations": _annotations,
    "typing.cast": lambda ev, frame, given, named: given[1] if len(given) > 1 else None,
    "typing.overload": _first,
    "typing.final": _first,
    "typing.runtime_checkable": _first,
    "typing.no_type_check": _first,
    "typing_extensions.overload": _first,
    "typing_extensions.final": _first,
    "typing_extensions.override": _first,
    "typing_extensions.runtime_checkable": _first,
    "abc.abstractmethod": _first,
    "functools.cache": _first,
    "functools.lru_cache": _transparent,
    "functools.lru_cache()": _first,
    "functools.singledispatch": _first,
    "functools.total_ordering": _first,
    "functools.partial": lambda ev, frame, given, named: (
        Partial(given[0], given[1:], named) if given else None
    ),
    "functools.partialmethod": _partial_method,
    "functools.wraps": lambda ev, frame, given, named: External("functools.wraps()"),
    "functools.wraps()": _first,
    "functools.update_wrapper": _first,
    "atexit.register": _first,
    "copy.copy": _first,
    "copy.deepcopy": _first,
    "importlib.import_module": _import_module,
    "builtins.__import__": _dunder_import,
    "importlib.util.find_spec": _find_spec,
    "importlib.metadata.version": _version,
    "importlib.metadata.entry_points": _entry_points,
    "importlib_metadata.entry_points": _entry_points,
    "importlib_metadata.version": _version,
    "importlib.reload": _first,
    "os.environ.get": _getenv,
    "os.getenv": _getenv,
    "os.environ.setdefault": _setenv,
    "os.environ.update": _update,
    "sys.modules.get": _loaded,
    "asyncio.run": lambda ev, frame, given, named: awaited(ev, frame, given[0]) if given else UNKNOWN,
    "sys.exit": _exit,
    "os._exit": _exit,
    "os.abort": _exit,
    "builtins.exit": _exit,
    "contextvars.Context().run": _exec_known,
    "contextvars.copy_context().run": _exec_known,
}


def _join(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `os.path.join`: the result ends with the last part."""
    texts = [part.value for part in positional if isinstance(part, Const) and isinstance(part.value, str)]
    if texts and len(texts) == len(positional):
        return Const(posixpath.join(*texts))
    return ending(positional)


def _path(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `Path(...)`."""
    whole = _join(ev, frame, positional, keywords)
    return whole if isinstance(whole, Const) else ending(positional, is_path=True)


def _same(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model a function that changes a path but keeps its end, such as one that makes it absolute."""
    only = positional[0] if len(positional) == 1 else None
    return only if isinstance(only, PartialText) else None


def _text(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Return a path as text."""
    only = positional[0] if len(positional) == 1 else None
    return PartialText(only.start, only.end) if isinstance(only, PartialText) else None


PATHS: dict[str, Model] = {
    "os.path.join": _join,
    "posixpath.join": _join,
    "pathlib.Path": _path,
    "pathlib.PurePath": _path,
    "os.fspath": _text,
    "os.path.abspath": _same,
    "os.path.expanduser": _same,
    "os.path.normpath": _same,
    "os.path.realpath": _same,
}


#: All models by dotted name; they take precedence over the catalogue.
MODELS: dict[str, Model] = {**BUILTINS, **ITERATION, **LIBRARY, **PATHS, **PROCESSES, **LAUNCHERS}
