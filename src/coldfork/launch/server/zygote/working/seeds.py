"""Draws new seeds in a worker, so that no two of them produce the same random numbers."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def redraw(named: Iterable[str] = ()) -> None:
    """Seed the global generators of the modules that are loaded, and those that are named.

    A name is that of a module and, behind a colon, what the module has: `sympy.core.symbol:Dummy._prng`.
    """
    random = sys.modules.get("random")
    if random is not None:
        random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        # The processor's alone: that of a device is seeded when the device wakes.
        torch.default_generator.seed()
    for name in named:
        generator = found(name)
        if generator is not None:
            seed_anew(generator)


def found(name: str) -> Any:
    """What has this name; None where a loaded module has it not, or is not loaded.

    Behind the module stand attributes and what lies in dictionaries and tuples, as in
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
    """Whether a new seed can be drawn for it."""
    return hasattr(generator, "seed") or hasattr(generator, "bit_generator")


def seed_anew(generator: Any) -> None:
    """Draw a new seed for a generator of `random`, numpy or torch."""
    if hasattr(generator, "seed"):
        generator.seed()
    else:
        # Of numpy's newer ones: they have no seed, and take the state of another of their kind.
        source = generator.bit_generator
        source.state = type(source)().state
