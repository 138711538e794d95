"""What a rule gets to judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from coldfork.model.effects import Effect, Hindrance, Obstacle, ProcessStart
from coldfork.model.observations import IgnoreComment, Observation


@dataclass(frozen=True, slots=True)
class Case:
    """An observation, and what the rules need to know besides."""

    observation: Observation
    remedies: Mapping[str, str] = field(default_factory=dict)
    """The knowledge base's remedies: the sentence of each id that an effect may name."""
    idle_ignores: tuple[IgnoreComment, ...] = ()
    """Comments, reduced to those of their rules that suppressed nothing; filled for the last rule only."""
    programs: frozenset[str] = frozenset()
    """The modules that are started, and that nobody imports."""

    def is_program(self, effect: Effect) -> bool:
        """Whether the effect is one of a program, which runs and is not imported."""
        return effect.module in self.programs

    def hindered(self, obstacle: Obstacle) -> Iterator[tuple[Effect, ProcessStart, Hindrance]]:
        """The effects with an obstacle of one kind in their way."""
        for effect in self.observation.effects:
            start = effect.start
            if start is not None and start.hindrance is not None and start.hindrance.obstacle is obstacle:
                yield effect, start, start.hindrance

    def remedy(self, remedy_id: str | None) -> str | None:
        """The sentence of a remedy, when the effect names one that is known."""
        return self.remedies.get(remedy_id) if remedy_id else None
