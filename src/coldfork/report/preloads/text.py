"""`coldfork preload` as text: the list, the modules left out with reasons, and the next command."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.preloads import ENOUGH, Doubt, LeftOut, Preloading, Stain
from coldfork.model.states import Waker
from coldfork.report.shared.effects import calls_to_device, frame_rows
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import duration, plural
from coldfork.report.shared.sheets import Sheet, table
from coldfork.report.shared.wrapping import fitted

_REMEDIES = {
    Stain.DEVICE: "compute it on first use, not while the module is imported",
    Stain.THREAD: "start the thread when it is first needed",
    Stain.PROCESS: "start the process when it is first needed",
    Stain.CONNECTION: "open it when it is first needed",
    Stain.LOCK: "release it before the import ends",
    Stain.ENVIRONMENT: "read it when it is needed, in the worker",
    Stain.SEEDS: "draw it when it is first needed, in the worker",
    Stain.BREAKS: "import it in the worker",
    Stain.RAISES: "import it in the worker, after what it needs",
    Stain.ENDS: "import it in the worker",
    Stain.HANGS: "give it more time with --timeout, or import it in the worker",
}


def remedy(left: LeftOut) -> str:
    """Return what to do about a module that is left out."""
    return _REMEDIES[left.stain]


def percent(share: float) -> str:
    """Return a share in per cent; less than the whole is never rounded up to 100."""
    return f"{int(share * 1000) / 10:g} %"


def opening(result: Preloading) -> str:
    """Return the result of `coldfork preload` in one sentence."""
    kept = plural(len(result.kept), "module")
    if result.file is None:
        return f"{kept} may be imported before a worker is forked"
    if result.holds:
        return f"{result.file} is clean: {kept} may be imported before a worker is forked"
    names = dict.fromkeys(left.module for left in result.left_out)
    return f"{result.file} is no longer clean, because of {plural(len(names), 'module')}"


def saving(result: Preloading) -> str:
    """Return how much the list saves each worker; empty if that is unknown."""
    share = result.share
    if share is None or result.rest is None:
        return ""
    return (
        f"they save it {percent(share)} of its import time: {duration(result.rest)} of "
        f"{duration(result.total)} of processor time remain"
    )


def shortfall(result: Preloading) -> str:
    """Return a sentence if the list saves too little of the import time; otherwise return an empty text."""
    share = result.share
    if share is None or share >= ENOUGH:
        return ""
    return f"that is less than {percent(ENOUGH)}: what is left out below costs the rest"


def proof(result: Preloading) -> str:
    """Return how the modules in the list were proven to be safe."""
    return (
        f"each was proven in a forked child on {result.device}: the child drew new seeds, ran its "
        "libraries in parallel, and used the device"
    )


def following(result: Preloading, file: str | None) -> str:
    """Return the command that the user should type next."""
    wanted = " ".join(result.wanted)
    if result.file is not None and not result.holds:
        return f"coldfork preload {wanted or 'MODULE...'} --output {result.file} makes a list without them"
    if result.file is not None:
        return f'coldfork.zygote(preload="{result.file}") takes it'
    if file is None:
        return f"coldfork preload {wanted} --output preload.toml writes the list for coldfork.zygote"
    later = f"coldfork preload --check {file} fails once the list is no longer clean"
    return f'coldfork.zygote(preload="{file}") takes it; {later}'


def head(result: Preloading, version: str) -> Iterator[str]:
    """Yield the comment above the list."""
    yield f"What a zygote may import before it forks workers; made by coldfork {version}:"
    yield f"  coldfork preload {' '.join(result.wanted)}"
    yield "Take it with coldfork.zygote(preload=FILE). In continuous integration:"
    yield "  coldfork preload --check FILE"
    share = result.share
    if share is not None:
        yield f"It saves a worker {percent(share)} of its imports, as measured on {result.device}."


def foot(result: Preloading) -> Iterator[str]:
    """Yield the modules that are left out, and why."""
    if result.left_out:
        yield "Left out:"
    for left in result.left_out:
        place = "" if left.path is None else f", {left.path}" + ("" if left.line is None else f":{left.line}")
        yield f"  {left.module}: {left.reason}{place}"


_MOST_KEPT = 15
_MOST_DOUBTS = 5
_INDENT = "      "


def render(result: Preloading, options: Options) -> str:
    """Write the result as text that ends with the next command to type."""
    return "\n".join(fitted(_Page(result, options).lines(), options.width)) + "\n"


class _Page:
    """The text output being written."""

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
            said = f"a worker that was forked with the list preloaded failed: {result.trouble}"
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
            yield self._note(f"the sources could not be checked: {result.unread}")
        if not result.doubts:
            return
        yield ""
        count = plural(len(result.doubts), "line")
        yield (
            f"{count} did not wake a device here but may elsewhere, according to coldfork check; "
            "a server checks again at each start:"
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
