"""The figures that were promised, and whether the ones measured keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from published.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class Target:
    """A promise about one figure: it is at most so much."""

    tree: str
    figure: str
    at_most: float
    unit: str = "s"

    def met(self, value: float) -> bool:
        """Whether a measured value keeps the promise."""
        return value <= self.at_most


#: Stands for every one of the large packages.
ANY_LARGE = "any large package"

TARGETS = (
    Target("vllm-0.11.0", "cold", 1.3),
    Target("vllm-0.11.0", "cold / lifeguard", 0.7, "x"),
    Target("vllm-0.11.0", "cold CPU / lifeguard", 0.7, "x"),
    Target("vllm-0.11.0", "warm", 0.35),
    Target("vllm-0.11.0", "edited", 0.4),
    Target("vllm-0.11.0", "session, leaf in a buffer", 0.15),
    Target("vllm-0.11.0", "session, leaf on disk", 0.15),
    Target("vllm-0.11.0", "session, root in a buffer", 0.6),
    Target("vllm-0.11.0", "session, root on disk", 0.6),
    Target("vllm-0.11.0-with-dependencies", "cold", 4.0),
    Target("vllm-0.11.0-with-dependencies", "warm", 0.8),
    Target("vllm-0.33.0-with-dependencies", "cold", 8.0),
    Target("vllm-0.33.0-with-dependencies", "warm", 1.2),
    Target("vllm-0.33.0-with-dependencies", "peak memory", 700.0, "MB"),
    Target("sympy", "CPU", 20.0),
    Target("pandas", "CPU", 8.0),
    Target(ANY_LARGE, "CPU a megabyte", 1.0),
    Target("80 MB together", "peak memory", 700.0, "MB"),
    Target("20000 generated lines", "peak memory", 100.0, "MB"),
    Target("a table of 20000 entries", "peak memory", 120.0, "MB"),
    Target("a table of 40000 entries", "peak memory", 120.0, "MB"),
    Target("20000 lines of messages", "peak memory", 120.0, "MB"),
)


@dataclass(frozen=True, slots=True)
class Kept:
    """A promise beside what was measured."""

    target: Target
    value: float

    @property
    def met(self) -> bool:
        """Whether the promise is kept."""
        return self.target.met(self.value)

    def __str__(self) -> str:
        unit = self.target.unit
        word = "met   " if self.met else "MISSED"
        return (
            f"{word} {self.target.figure}: {self.value:.3g} {unit}, promised {self.target.at_most:g} {unit}"
        )


def compare(tree: str, figures: Mapping[str, float]) -> tuple[Kept, ...]:
    """The promises about a tree whose figures were measured."""
    return tuple(
        Kept(target, figures[target.figure])
        for target in TARGETS
        if target.tree == tree and target.figure in figures
    )


def grows_evenly(rows: Sequence[tuple[float, float]], slack: float = 1.25) -> bool:
    """Whether time grows no faster than the source, for (megabytes, seconds) sorted by size.

    Starting costs the same at every size, so it is the cost of a further megabyte that is compared: in the
    upper half of the sizes it may exceed that of the lower half by no more than `slack`, which is for noise.
    """
    if len(rows) < 3:
        raise UnavailableError("growth takes at least three sizes")
    middle = len(rows) // 2
    return _slope(rows[middle], rows[-1]) <= slack * _slope(rows[0], rows[middle])


def _slope(smaller: tuple[float, float], larger: tuple[float, float]) -> float:
    return (larger[1] - smaller[1]) / (larger[0] - smaller[0])
