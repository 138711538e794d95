"""Find the program's functions that a child will run, as far as the code that starts the child shows them."""

from __future__ import annotations

from types import FunctionType, MethodType

from coldfork.observe.forking.purposes import (
    DATALOADER,
    POOL,
    PREEXEC,
    PROCESS,
    of_target,
    process_at,
    purpose_and_target,
    unwrapped,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType
    from typing import Any

    _Given = tuple[tuple[Any, ...], dict[str, Any]]

_STAR, _DOUBLE_STAR = 4, 8
"""`CO_VARARGS` and `CO_VARKEYWORDS` of a function's flags."""
_ITERABLE = 1
"""`_DatasetKind.Iterable` of torch.utils.data.dataloader."""
_GIVEN_TO_WORKERS = {
    DATALOADER: (("init_fn", "its worker_init_fn"), ("collate_fn", "its collate_fn")),
    POOL: (("initializer", "its initializer"),),
}
"""Functions that workers of a known kind certainly call: the parameters that hold them, and descriptions."""


_CALLED = {PREEXEC: "its preexec_fn", PROCESS: "its function"}


class Body:
    """One function that a child will certainly call."""

    __slots__ = ("arguments", "function", "iterated", "owner", "who")

    def __init__(
        self, who: str, function: FunctionType, owner: object, arguments: Mapping[str, object] | None = None
    ) -> None:
        self.who: str = who
        """The function's description: `its initializer`."""
        self.function: FunctionType = function
        self.owner: object = owner
        """The object whose method it is; None for a plain function."""
        self.arguments: Mapping[str, object] | None = arguments
        """The arguments, by parameter name; None if they are unknown."""
        self.iterated: bool = False
        """Whether the function's return value is iterated."""


def bodies_at(frame: FrameType | None) -> list[Body]:
    """Return the functions that a child will call, given the frame that forks it or that frame's callers."""
    process = process_at(frame)
    return of_purpose(*purpose_and_target(frame)) if process is None else of_process(process)


def of_process(process: Any) -> list[Body]:
    """Return the functions that a process of multiprocessing will call."""
    target = getattr(process, "_target", None)
    if target is None:
        return _several(("its run()", getattr(process, "run", None)), given=((), {}))
    kind = of_target(target)
    if kind is None:
        return _several(("its function", target), given=(process._args, process._kwargs))
    return [*_of_worker(kind, _arguments(process, target))]


def of_purpose(purpose: str, target: object) -> list[Body]:
    """Return the only function that a child of this purpose calls; nothing for a worker, which calls
    several.
    """
    given: _Given | None = ((), {}) if purpose == PREEXEC else None
    return _several((_CALLED[purpose], target), given=given) if purpose in _CALLED else []


def _arguments(process: Any, target: Any) -> dict[str, Any]:
    """Return the arguments of a worker's function, by parameter name."""
    code = getattr(unwrapped(target), "__code__", None)
    names = () if code is None else code.co_varnames[: code.co_argcount]
    return {**dict(zip(names, process._args, strict=False)), **process._kwargs}


def _of_worker(kind: str, given: dict[str, Any]) -> Iterator[Body]:
    for name, who in _GIVEN_TO_WORKERS.get(kind, ()):
        handed: _Given | None = (
            (given["initargs"], {}) if name == "initializer" and "initargs" in given else None
        )
        yield from _several((who, given.get(name)), given=handed)
    dataset = _innermost(given.get("dataset"))
    if kind != DATALOADER or dataset is None:
        return
    iterated = given.get("dataset_kind") == _ITERABLE
    name = "__iter__" if iterated else "__getitem__"
    if not iterated and given.get("auto_collation") and getattr(dataset, "__getitems__", None) is not None:
        name = "__getitems__"
    for body in _several(("its data set", getattr(dataset, name, None))):
        body.iterated = iterated
        yield body


def _innermost(dataset: Any) -> Any:
    """Return the program's own data set, which wrappers of PyTorch may contain."""
    for _ in range(8):
        inside = getattr(dataset, "dataset", None)
        if type(dataset).__module__ != "torch.utils.data.dataset" or inside is None:
            break
        dataset = inside
    return dataset


def _several(*named: tuple[str, object], given: _Given | None = None) -> list[Body]:
    """Return the functions that run if these objects are called, with the `given` arguments if they are
    known.
    """
    found = []
    for who, thing in named:
        function, owner = _function_of(thing)
        if function is not None:
            found.append(Body(who, function, owner, _arguments_of(thing, function, owner, given)))
    return found


def _arguments_of(
    thing: Any, function: FunctionType, owner: object, given: _Given | None
) -> dict[str, object] | None:
    """Return a function's arguments by parameter name, including those of a partial and default values."""
    if given is None:
        return None
    positional, keywords = given
    while hasattr(thing, "func") and hasattr(thing, "keywords"):
        positional, keywords = (*thing.args, *positional), {**thing.keywords, **keywords}
        thing = thing.func
    code = function.__code__
    named = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    found: dict[str, object] = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    found.update(function.__kwdefaults__ or {})
    own = names if owner is None else names[1:]
    found.update(zip(own, positional, strict=False))
    found.update((name, keywords[name]) for name in code.co_varnames[:named] if name in keywords)
    if code.co_flags & _STAR:
        found[code.co_varnames[named]] = tuple(positional[len(own) :])
        named += 1
    if code.co_flags & _DOUBLE_STAR:
        found[code.co_varnames[named]] = {name: one for name, one in keywords.items() if name not in found}
    return found


def _function_of(thing: object) -> tuple[FunctionType | None, object]:
    """Return the function that runs when this object is called, and the object that it is bound to."""
    called: Any = unwrapped(thing)
    if not isinstance(called, (FunctionType, MethodType, type)):
        # Calling an object runs its `__call__`; calling a built-in runs no Python function.
        inside = next((one for cls in type(called).__mro__ if (one := vars(cls).get("__call__"))), None)
        return (inside, called) if isinstance(inside, FunctionType) else (None, None)
    if isinstance(called, MethodType):
        return (
            (called.__func__, called.__self__) if isinstance(called.__func__, FunctionType) else (None, None)
        )
    return (called, None) if isinstance(called, FunctionType) else (None, None)
