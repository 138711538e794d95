"""Give each forked process its own random seeds, and thread pools of the size that its variables allow.

So no two processes produce the same random numbers. The server limits pools to one thread, so that its
imports start no others; in libraries that have read this limit, their own functions raise it again. Only
loaded modules are touched: nothing is imported for this.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

_OPENMP = ("libgomp", "libomp", "libiomp5")
_OPENBLAS = ("libopenblas", "libscipy_openblas")
_OPENBLAS_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)
_OF_OPENBLAS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
_OF_NUMEXPR = ("NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS")


def redraw(named: Iterable[str] = ()) -> None:
    """Seed the global generators of the loaded modules, and the generators named here.

    Each name consists of a module and, after a colon, a path inside it: `sympy.core.symbol:Dummy._prng`.
    """
    random = sys.modules.get("random")
    if random is not None:
        random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        # Only the processor's generator: a device's is seeded when the device wakes.
        torch.default_generator.seed()
    for name in named:
        generator = found(name)
        if generator is not None:
            seed_anew(generator)


def found(name: str) -> Any:
    """Return the object with this name; None if the module is not loaded or does not have it.

    The path inside the module may lead through attributes, dictionaries and tuples, as in
    `Writer.send.__defaults__.0`.
    """
    module, _, path = name.partition(":")
    thing: Any = sys.modules.get(module)
    for part in path.split("."):
        if type(thing) is dict:
            thing = thing.get(part)
        elif type(thing) in (list, tuple):
            thing = thing[int(part)] if part.isdigit() and int(part) < len(thing) else None
        else:
            thing = None if thing is None else getattr(thing, part, None)
    return thing


def can_seed_anew(generator: Any) -> bool:
    """Return whether a new seed can be drawn for a generator."""
    return hasattr(generator, "seed") or hasattr(generator, "bit_generator")


def seed_anew(generator: Any) -> None:
    """Draw a new seed for a generator of `random`, numpy or torch."""
    if hasattr(generator, "seed"):
        generator.seed()
    else:
        # numpy's newer generators cannot be seeded again, but can copy the state of a new one.
        source = generator.bit_generator
        source.state = type(source)().state


class ThreadLimits:
    """Functions that set the thread limits of loaded libraries, looked up once for all workers."""

    def __init__(self) -> None:
        self._openmp: list[Any] = []
        self._openblas: list[Any] = []
        for path in _loaded():
            name = path.rpartition("/")[2]
            if name.startswith(_OPENMP):
                self._openmp += _setters(path, ("omp_set_num_threads",))
            elif name.startswith(_OPENBLAS):
                self._openblas += _setters(path, _OPENBLAS_SETTERS)

    def restore(self, environment: Mapping[str, str]) -> None:
        """Set this process's thread limits from these variables; without them, to the number of its
        processors.
        """
        here = len(os.sched_getaffinity(0))
        openmp = _first(environment, ("OMP_NUM_THREADS",), here)
        # OpenBLAS and MKL never use more threads than there are processors, whatever the variables say.
        openblas = min(here, _first(environment, _OF_OPENBLAS, here))
        for setter in self._openmp:
            setter(openmp)
        if openblas > 1:
            for setter in self._openblas:
                setter(openblas)
        torch = sys.modules.get("torch")
        if torch is not None:
            # torch asks OpenMP and MKL for their limits, which they report correctly only in this thread.
            allowed = torch.get_num_threads()
            if torch._C.has_mkl:
                allowed = min(here, allowed)
            if allowed > 1:
                torch.set_num_threads(allowed)
        numexpr = sys.modules.get("numexpr")
        if numexpr is not None:
            numexpr.set_num_threads(min(_first(environment, _OF_NUMEXPR, here), numexpr.MAX_THREADS))


def _loaded() -> Iterator[str]:
    """Yield the loaded libraries that have thread limits."""
    found: dict[str, None] = {}
    with open("/proc/self/maps", "rb") as maps:
        for line in maps:
            path = os.fsdecode(line[line.find(b"/") :].rstrip(b"\n")) if b"/" in line else ""
            if path.rpartition("/")[2].startswith((*_OPENMP, *_OPENBLAS)):
                found[path] = None
    yield from found


def _setters(path: str, names: tuple[str, ...]) -> Iterator[Any]:
    """Yield the first of these functions that a library has, if it has any."""
    import ctypes

    library = ctypes.CDLL(path)
    name = next((name for name in names if hasattr(library, name)), None)
    if name is not None:
        yield getattr(library, name)


def _first(environment: Mapping[str, str], names: tuple[str, ...], otherwise: int) -> int:
    """Return the first number among these variables; if one holds a list, for nested levels, its first
    number.
    """
    for name in names:
        number = environment.get(name, "").partition(",")[0].strip()
        if number.isdigit() and int(number) > 0:
            return int(number)
    return otherwise
