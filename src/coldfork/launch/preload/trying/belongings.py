"""Find objects in memory that forked copies must not share: held locks and sources of random numbers."""

from __future__ import annotations

import gc
import hashlib
import sys
import threading
from types import FunctionType, ModuleType

from coldfork.launch.preload.trying.lines import line_of
from coldfork.launch.server import renewal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


_LOCK: Any = type(threading.Lock())
_RLOCK: Any = type(threading.RLock())
_DEFAULTS = ("__defaults__", "__kwdefaults__")
_DEEPEST = 5
"""The most containers that may lie between an object and the module that holds it."""
_GENERATORS = frozenset(
    {
        ("numpy.random._generator", "Generator"),
        ("numpy.random.mtrand", "RandomState"),
        ("torch._C", "Generator"),
        ("torch", "Generator"),
        ("uuid", "UUID"),
    }
)
#: Generators that `server/renewal.py` seeds again in each worker, and one that notices forks by itself.
_REDRAWN = (
    ("random", "_inst"),
    ("numpy.random", "mtrand._rand"),
    ("torch", "default_generator"),
    ("tempfile", "_name_sequence._rng"),
)
_BOUND = ("method", "builtin_function_or_method", "method-wrapper", "frame", "list_iterator", "generator")
"""Types that are not searched, because they do not lead to an object by a name."""


class Belonging:
    """A lock or generator, and the module that holds it."""

    def __init__(self, thing: Any, module: str | None, name: str) -> None:
        self.thing = thing
        self.module = module
        self.name = name
        """The name under which the module holds it; empty if none was found."""

    def is_found(self) -> bool:
        """Return whether looking up the module and name yields this very object."""
        return self.module is not None and renewal.found(f"{self.module}:{self.name}") is self.thing


def held_locks() -> list[Belonging]:
    """Return the locks that have been made since the last `gc.freeze` and are held."""
    held = [one for one in gc.get_objects() if _is_held(one)]
    return [_belonging(one) for one in held]


def _is_held(thing: Any) -> bool:
    kind = type(thing)
    if kind is _LOCK:
        return bool(thing.locked())
    if kind is _RLOCK:
        return bool(thing._is_owned())
    return kind.__name__ == "SemLock" and kind.__module__ == "_multiprocessing" and bool(thing._is_mine())


def generators() -> list[tuple[Belonging, str]]:
    """Return the sources of random numbers made since the last `gc.freeze`, each with a digest of its state.

    Generators that each worker seeds again are left out.
    """
    found: dict[int, Belonging] = {}
    for thing in gc.get_objects():
        if _is_generator(thing):
            found.setdefault(id(thing), _belonging(thing))
        elif type(thing) is ModuleType:
            for name, value in list(vars(thing).items()):
                # The garbage collector does not list every generator, so modules are searched as well.
                if _is_generator(value) and not gc.is_tracked(value):
                    found.setdefault(id(value), Belonging(value, vars(thing).get("__name__"), name))
    redrawn = [renewal.found(f"{module}:{name}") for module, name in _REDRAWN]
    return [
        (one, _digest(one.thing))
        for one in found.values()
        if not any(one.thing is other for other in redrawn)
    ]


def _is_generator(thing: Any) -> bool:
    kind = type(thing)
    random = sys.modules.get("random")
    if random is not None and issubclass(kind, random.Random):
        return not issubclass(kind, random.SystemRandom)
    return (kind.__module__, kind.__qualname__) in _GENERATORS


def _digest(thing: Any) -> str:
    """Return a digest of a generator's state: equal digests mean equal random numbers."""
    for ask in ("getstate", "get_state"):
        state = getattr(thing, ask, None)
        if state is not None:
            said = state()
            text = repr(said.tolist() if hasattr(said, "tolist") else _plain(said))
            return hashlib.sha256(text.encode()).hexdigest()[:16]
    generator = getattr(thing, "bit_generator", None)
    return hashlib.sha256(repr(_plain(generator.state if generator else thing)).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Turn arrays into lists, because the text of a long array omits its middle."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _belonging(thing: Any) -> Belonging:
    found = list(_holders(thing, _DEEPEST, {id(thing)}))
    if not found:
        return Belonging(thing, None, "")
    # Many modules may hold the object because they have imported it; prefer the one that made it.
    named = [_made_in(module, name) for module, name in found]
    best = min(named, key=lambda one: (not Belonging(thing, *one).is_found(), line_of(*one)[1] is None, one))
    return Belonging(thing, *best)


def _made_in(module: str, name: str) -> tuple[str, str]:
    """Return an object's place in the module that defines its holder's class, if that is another module."""
    first, _, rest = name.partition(".")
    maker = getattr(getattr(sys.modules[module], first, None), "__module__", None) if rest else None
    if isinstance(maker, str) and getattr(sys.modules.get(maker), first, None) is not None:
        return maker, name
    return module, name


def _holders(thing: Any, depth: int, known: set[int]) -> Iterator[tuple[str, str]]:
    """Yield the modules that lead to an object, each with the dotted names in between."""
    for holder in gc.get_referrers(thing):
        if id(holder) in known or type(holder).__name__ in _BOUND or isinstance(holder, ModuleType):
            continue
        known.add(id(holder))
        name = _name_in(holder, thing)
        if isinstance(holder, dict):
            module = dict.get(holder, "__name__")
            if isinstance(name, str) and isinstance(module, str) and _is_module_of(module, holder):
                yield module, name
                continue
        if depth:
            behind = f".{name}" if name else ""
            for found in _holders(holder, depth - 1, known):
                yield found[0], f"{found[1]}{behind}"


def _is_module_of(name: str, names: dict[Any, Any]) -> bool:
    module = sys.modules.get(name)
    return isinstance(module, ModuleType) and vars(module) is names


def _name_in(holder: Any, thing: Any) -> str | None:
    """Return the name, key or index under which a holder has an object."""
    if isinstance(holder, dict):
        names = (key for key, value in list(dict.items(holder)) if value is thing and isinstance(key, str))
        return next(names, None)
    if type(holder) in (list, tuple):
        return next((str(place) for place, value in enumerate(holder) if value is thing), None)
    if type(holder) is FunctionType:
        return next((name for name in _DEFAULTS if getattr(holder, name) is thing), None)
    try:
        return next((name for name, value in list(vars(holder).items()) if value is thing), None)
    except TypeError:
        return None
