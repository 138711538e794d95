"""An evaluator that notes what it believes at some lines of one file."""

from __future__ import annotations

from coldfork.source.evaluation.evaluator import Evaluator
from coldfork.source.evaluation.flow.branches import BREAKS, CONTINUES, RETURNS
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.trace import Edge, Wake
from coldfork.source.program.module import Module
from coldfork.source.program.program import Program
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node, line_of
from coldfork.source.values.conditions import Condition, Conditions
from coldfork.source.values.kinds import Env, Value
from coldfork.source.values.wording import Wording, in_words, spelled

_ENDS = {RETURNS: "returns", BREAKS: "leaves the loop", CONTINUES: "goes on with the next round"}
_MOST_VALUES = 3
"""So many values of one expression are told: a loop may give it a thousand."""


class Seen:
    """A statement that is come to once, and what is believed there."""

    def __init__(self, importing: str, frame: Frame, line: int, looked_up: bool = False) -> None:
        self.importing = importing
        self.frame: Frame | None = frame
        self.line = line
        self.function = frame.symbol
        self.conditions: Conditions = frame.conditions
        self.presumed = frame.presumed
        self.off: Condition | None = frame.off
        self.looked_up = looked_up
        self.beliefs: dict[str, list[str]] = {}
        self.wakes: list[tuple[Wake, bool]] = []
        self.edges: list[Edge] = []
        self.ended = ""

    def believe(self, text: str, value: str) -> None:
        """Note what an expression is taken for."""
        held = self.beliefs.setdefault(text, [])
        if value not in held and len(held) <= _MOST_VALUES:
            held.append("and others" if len(held) == _MOST_VALUES else value)


class Watch:
    """Which lines are watched, and what was seen there."""

    def __init__(self, path: str, lines: frozenset[int], words_of: Wording) -> None:
        self.path = path
        self.lines = lines
        self.words_of = words_of
        self.seen: list[Seen] = []


class TracingEvaluator(Evaluator):
    """Does what an evaluator does, one statement at a time where it is watched."""

    def __init__(self, program: Program, watch: Watch) -> None:
        super().__init__(program)
        self._watch = watch
        self._at: Seen | None = None

    def execute(self, frame: Frame, block: Block) -> int:
        """Run a block; how it ended."""
        if frame.module.path != self._watch.path:
            return super().execute(frame, block)
        for node in block:
            ended = self._step(frame, node)
            if ended:
                return ended
        return 0

    def evaluate(self, frame: Frame, node: Node) -> Value:
        """The value of an expression."""
        at = self._at
        value = super().evaluate(frame, node)
        if at is not None and at.frame is frame:
            self._believe(at, node, value)
        return value

    def quietly(self, module: Module, env: Env | None, node: Node, before: int = 0) -> Value:
        """The value of an expression whose effects belong to somebody else."""
        value = super().quietly(module, env, node, before)
        if before in self._watch.lines and module.path == self._watch.path:
            seen = Seen(self._importing, Frame(module, env), before, looked_up=True)
            seen.believe("its value", in_words(value, self._watch.words_of))
            self._watch.seen.append(seen)
        return value

    @property
    def _importing(self) -> str:
        return "" if self.running.module is None else self.running.module.name

    def _step(self, frame: Frame, node: Node) -> int:
        """Run one statement, and note what is seen if it is watched."""
        outer, self._at = self._at, None
        if line_of(node) not in self._watch.lines or frame.quiet:
            try:
                return super().execute(frame, (node,))
            finally:
                self._at = outer
        seen = self._at = Seen(self._importing, frame, line_of(node))
        sites, wakes = len(frame.sites), set(frame.wakes)
        imports, edges = len(frame.site_edges), set(frame.edges)
        try:
            ended = super().execute(frame, (node,))
            seen.ended = _ENDS.get(ended, "")
            return ended
        except Raised as problem:
            seen.ended = f"raises {problem.kind}"
            raise
        finally:
            self._at = outer
            seen.frame = None
            seen.wakes = [
                *((site.wake, site.certain) for site in frame.sites[sites:]),
                *((wake, False) for key, wake in frame.wakes.items() if key not in wakes),
            ]
            seen.edges = [
                *(one.edge for one in frame.site_edges[imports:]),
                *(edge for target, edge in frame.edges.items() if target not in edges),
            ]
            self._watch.seen.append(seen)

    def _believe(self, seen: Seen, node: Node, value: Value) -> None:
        text = spelled(node)
        if node[0] != nodes.CONST and text != "...":
            seen.believe(text, in_words(value, self._watch.words_of))
