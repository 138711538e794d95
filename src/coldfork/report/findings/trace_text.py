"""The findings of the analysis about one line, as text, for readers who wonder why it is reported or not."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.terms.traces import Imported, Touch, Trace, Visit
from coldfork.report.shared.characters import one_line
from coldfork.report.shared.effects import effect_phrase
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import plural
from coldfork.report.shared.sheets import Sheet

_MOST_VISITS = 8
_HANG = 4


def render(trace: Trace, options: Options) -> str:
    """Write the observations at the line, for each way in which the analysis reached it."""
    return "\n".join(_Page(trace, options).lines()) + "\n"


def _touch(touch: Touch) -> str:
    """Return how a call touches a device, and how certain this is."""
    condition = one_line(touch.condition or "")
    # How certain a call in a function is also depends on its callers, so there may be no verdict here.
    sure = ", certain" if touch.certain else f", only when {condition}" if condition else ""
    return f"{touch.symbol} {effect_phrase(touch.effect, touch.accelerator)}{sure}"


def _imported(imported: Imported) -> str:
    condition = f", only when {one_line(imported.condition)}" if imported.condition else ""
    return f"it imports {imported.module}{'' if imported.found else ', which was not found'}{condition}"


class _Page:
    """The text of the trace being written."""

    def __init__(self, trace: Trace, options: Options) -> None:
        self._trace = trace
        self._sheet = Sheet(options)

    def lines(self) -> Iterator[str]:
        trace = self._trace
        yield from self._about(trace)
        for visit in trace.visits[:_MOST_VISITS]:
            yield ""
            yield from self._visit(visit)
        if len(trace.visits) > _MOST_VISITS:
            yield ""
            yield f"and {len(trace.visits) - _MOST_VISITS} more ways"
        for sentence in trace.unfinished:
            yield ""
            yield from self._flow(sentence)

    def _about(self, trace: Trace) -> Iterator[str]:
        """Yield the line that is described and, if it is not the requested one, the reason."""
        were = "was" if trace.modules == 1 else "were"
        followed = f"{plural(trace.modules, 'module')} {were} followed, and nothing reached"
        if not trace.line:
            why = (
                f"no code that an import runs calls {trace.within}"
                if trace.within
                else "its module is not imported, or ends before this line"
            )
            yield from self._flow(f"{followed} {trace.path}:{trace.asked}: {why}")
            return
        place = self._sheet.paint("place", self._sheet.say(f"{trace.path}:{trace.line}"))
        if trace.line == trace.asked:
            yield place
        else:
            yield from self._flow(
                f"{followed} line {trace.asked}; the innermost statement around it that was reached is:"
            )
            yield place
        yield f"    {self._sheet.cut(trace.text, 4)}"

    def _visit(self, visit: Visit) -> Iterator[str]:
        where = f"in {visit.function}, " if visit.function != visit.importing else ""
        times = f" ({visit.times} times alike)" if visit.times > 1 else ""
        if visit.looked_up:
            yield from self._flow(
                f"while {visit.importing} is imported, a name that it binds is looked up{times}"
            )
        else:
            yield from self._flow(f"{where}while {visit.importing} is imported{times}")
        for sentence in self._circumstances(visit):
            yield from self._flow(sentence, 2)
        for belief in visit.beliefs:
            yield from self._flow(f"{one_line(belief.text)} is {one_line(belief.value)}", 4)
        for touch in visit.touches:
            yield from self._flow(_touch(touch), 2)
        for imported in visit.imports:
            yield from self._flow(_imported(imported), 2)
        if visit.ended:
            yield from self._flow(f"then it {visit.ended}", 2)

    def _circumstances(self, visit: Visit) -> Iterator[str]:
        if visit.condition:
            yield f"it runs only when {one_line(visit.condition)}"
        if not visit.nominal:
            yield "the assumed machine takes another path, so nothing here is certain"
        if visit.presumed:
            yield f"presuming that {', and that '.join(map(one_line, visit.presumed))}"

    def _flow(self, text: str, indent: int = 0) -> Iterator[str]:
        yield from self._sheet.flow(f"{' ' * indent}{self._sheet.say(text)}", indent + _HANG)
