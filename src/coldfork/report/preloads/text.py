"""What `coldfork preload` says to people: the list, what is left out and why, and the next command."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.forking.preloads import Doubt, LeftOut, Preloading
from coldfork.model.states import Waker
from coldfork.report.preloads.words import following, opening, proof, remedy, saving, shortfall
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import duration, plural
from coldfork.report.shared.sheets import Sheet, table
from coldfork.report.shared.wakers import calls_to_device, frame_rows

_MOST_KEPT = 15
_MOST_DOUBTS = 5
_INDENT = "      "


def render(result: Preloading, options: Options) -> str:
    """Write the result as text that ends with the next command to type."""
    return "\n".join(_Page(result, options).lines()) + "\n"


class _Page:
    """One text output being written."""

    def __init__(self, result: Preloading, options: Options) -> None:
        self._result = result
        self._options = options
        self._sheet = Sheet(options)

    def lines(self) -> Iterator[str]:
        result = self._result
        style = "clean" if result.holds or result.file is None else "error"
        yield self._sheet.paint(style, self._sheet.say(opening(result)))
        if saving(result):
            yield self._note(saving(result))
        if shortfall(result):
            yield self._note(shortfall(result))
        if result.kept:
            yield self._note(proof(result))
        if result.trouble is not None:
            said = f"a worker that was forked with the list preloaded could not work: {result.trouble}"
            yield self._note(said)
        yield from self._kept()
        for left in result.left_out:
            yield ""
            yield from self._left_out(left)
        yield from self._doubts()
        yield ""
        yield f"Next: {self._sheet.say(following(result, result.listed))}"

    def _kept(self) -> Iterator[str]:
        kept = self._result.kept
        if not kept:
            return
        yield ""
        shown = set(sorted(kept, key=lambda one: -one.seconds)[:_MOST_KEPT])
        for one in kept:
            if one in shown:
                yield f"{duration(one.seconds):>9}  {self._sheet.say(one.module)}"
        hidden = [one for one in kept if one not in shown]
        if hidden:
            spent = duration(sum(one.seconds for one in hidden))
            yield f"{spent:>9}  {plural(len(hidden), 'other module')} between them"

    def _left_out(self, left: LeftOut) -> Iterator[str]:
        head = self._sheet.paint("warning" if self._result.file is None else "error", "left out")
        yield f"{head} {self._sheet.say(left.module)}: {self._sheet.say(left.reason)}"
        if left.path is not None:
            arrow = self._sheet.paint("quiet", "-->")
            yield f"  {arrow} {self._place(left.path, left.line)}"
        waker = Waker(left.module, left.path, left.line, None, left.call, "", stack=left.stack)
        rows = frame_rows(calls_to_device(waker), self._place)
        if left.call:
            rows.append((left.call, ""))
        yield from table(rows, self._sheet.letters, numbered=True, elsewhere="; --format json has them all")
        if len(left.chain) > 1:
            yield "  imported through"
            chain = [
                (site.module, self._place(site.path, site.line) if site.path else "") for site in left.chain
            ]
            yield from table(
                chain, self._sheet.letters, numbered=False, elsewhere="; --format json has them all"
            )
        if left.seconds:
            yield self._note(f"its import takes {duration(left.seconds)} of processor time")
        yield f"   = {self._sheet.paint('help', 'help:')} {self._sheet.say(remedy(left))}"

    def _doubts(self) -> Iterator[str]:
        result = self._result
        if result.unread is not None:
            yield ""
            yield self._note(f"the sources were not read as well: {result.unread}")
        if not result.doubts:
            return
        yield ""
        count = plural(len(result.doubts), "line")
        yield (
            f"{count} did not wake a device here and may elsewhere, as coldfork check reads them; "
            "a server looks for itself each time it starts:"
        )
        for doubt in result.doubts[:_MOST_DOUBTS]:
            yield f"{_INDENT}{self._place(doubt.path, doubt.line)}{self._condition(doubt)}"
        if len(result.doubts) > _MOST_DOUBTS:
            yield f"{_INDENT}and {len(result.doubts) - _MOST_DOUBTS} more; --format json lists them"

    def _condition(self, doubt: Doubt) -> str:
        if not doubt.condition:
            return f"  {doubt.verdict}"
        return f"  {doubt.verdict}, if {self._sheet.say(doubt.condition)}"

    def _note(self, sentence: str) -> str:
        return f"   = {self._sheet.say(sentence)}"

    def _place(self, path: str, line: int | None) -> str:
        where = self._sheet.letters.clean(self._options.locate(path))
        return self._sheet.paint("place", where if line is None else f"{where}:{line}")
