"""`coldfork probe` as text: each module and, if it was woken, the line, the calls and the imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from coldfork.model.probes import ModuleProbe, ProbeStatus, Probing
from coldfork.model.states import Waker
from coldfork.report.probes.words import (
    advice,
    consequence,
    counts,
    deeper_sentence,
    effect_sentence,
    headline,
    interruption,
    remedy,
    rule,
    standing,
)
from coldfork.report.shared.effects import Row, calls_to_device, frame_rows, import_rows
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import duration, plural
from coldfork.report.shared.sheets import Sheet, table
from coldfork.report.shared.wrapping import fitted

_MOST_COLD = 20
_MOST_OUTPUT = 20
_MOST_ALIKE = 4
_INDENT = " " * 6
_STYLES = {
    ProbeStatus.WOKEN: "error",
    ProbeStatus.COLD: "clean",
    ProbeStatus.FAILED: "warning",
    ProbeStatus.UNKNOWN: "warning",
}


def render(probing: Probing, options: Options) -> str:
    """Write the result as text that ends with a one-line summary."""
    return "\n".join(fitted(_Page(probing, options).lines(), options.width)) + "\n"


def account(probe: ModuleProbe, probing: Probing, options: Options) -> str:
    """Return the description of a module that is not cold, for other formats to quote."""
    plain = replace(options, colour=False, width=None)
    return "\n".join(_Page(probing, plain).about(probe))


def _alike(probes: Sequence[ModuleProbe]) -> Iterable[list[ModuleProbe]]:
    """Return the modules in groups with the same description: woken by the same line through the same
    imports.
    """
    groups: dict[object, list[ModuleProbe]] = {}
    for probe in probes:
        same = probe.waker is not None and probe.waker.import_chain and probe.reason is None
        groups.setdefault((probe.accelerator, probe.waker) if same else probe.module, []).append(probe)
    return groups.values()


class _Page:
    """The text output being written."""

    def __init__(self, probing: Probing, options: Options) -> None:
        self._probing = probing
        self._options = options
        self._sheet = Sheet(options)

    def lines(self) -> Iterator[str]:
        cold = [probe for probe in self._probing.modules if probe.status is ProbeStatus.COLD]
        for probe, *others in _alike(self._probing.modules):
            if probe.status is ProbeStatus.COLD:
                continue
            yield from self.about(probe, others)
            yield ""
        if len(cold) <= _MOST_COLD:
            yield from (f"{self._title(probe)}{self._size(probe)}" for probe in cold)
        yield from self._summary()

    def about(self, probe: ModuleProbe, others: Sequence[ModuleProbe] = ()) -> Iterator[str]:
        """Yield the lines about a module; `others` are those with the same description."""
        yield self._title(probe)
        yield from self._woken(probe, others) if probe.status is ProbeStatus.WOKEN else self._unjudged(probe)

    def _title(self, probe: ModuleProbe) -> str:
        label = self._sheet.paint(_STYLES[probe.status], f"{probe.status.value}:")
        sentence = self._sheet.say(headline(probe))
        if probe.status is not ProbeStatus.COLD:
            sentence = self._sheet.paint("title", sentence)
        return f"{label} {sentence}"

    def _size(self, probe: ModuleProbe) -> str:
        if probe.modules_loaded is None:
            return ""
        return f" ({plural(probe.modules_loaded, 'module')} in {duration(probe.seconds)})"

    def _also(self, others: Sequence[ModuleProbe]) -> str:
        names = [probe.module for probe in others]
        shown = ", ".join(names[:_MOST_ALIKE])
        more = f" and {len(names) - _MOST_ALIKE} more" if len(names) > _MOST_ALIKE else ""
        return f"in the same way for {plural(len(names), 'other module')}: {shown}{more}"

    def _woken(self, probe: ModuleProbe, others: Sequence[ModuleProbe]) -> Iterator[str]:
        waker = probe.waker
        if waker is not None:
            yield from self._site(waker, probe.text)
            yield from self._calls(probe, waker)
            yield from self._imports(waker)
        if probe.level is not None:
            yield self._note(consequence(probe))
        if deeper_sentence(probe):
            yield self._note(deeper_sentence(probe))
        yield self._note(self._seen(probe))
        if others:
            yield self._note(self._also(others))
        if probe.reason:
            yield self._note(probe.reason)
        yield from self._output(probe)
        yield self._help(f"{remedy(probe)}; read more: coldfork rule {rule(probe)}")

    def _site(self, waker: Waker, text: str) -> Iterator[str]:
        arrow = self._sheet.paint("quiet", "-->")
        if waker.path is None:
            known = waker.module or f"unknown; it was {waker.thread.removeprefix('unknown: ')}"
            yield f"  {arrow} {self._sheet.letters.clean(known)}"
            return
        where = standing(waker.function)
        yield f"  {arrow} {self._place(waker.path, waker.line)}" + (
            f"  {self._sheet.letters.clean(where)}" if where else ""
        )
        if text:
            letters = self._sheet.letters
            yield _INDENT + letters.cut(letters.first_line(text), self._sheet.room(len(_INDENT)))

    def _calls(self, probe: ModuleProbe, waker: Waker) -> Iterator[str]:
        rows = frame_rows(calls_to_device(waker), self._place)
        if waker.call:
            rows.append((waker.call, effect_sentence(probe)))
        yield from self._table(rows, numbered=True)
        if not waker.call and waker.line is not None:
            yield f"{_INDENT}{self._sheet.letters.clean(effect_sentence(probe))}"

    def _imports(self, waker: Waker) -> Iterator[str]:
        rows = import_rows(waker, self._place)
        if rows:
            yield "  imported through"
            yield from self._table(rows, numbered=False)

    def _table(self, rows: Sequence[Row], *, numbered: bool) -> Iterator[str]:
        return table(rows, self._sheet.letters, numbered=numbered, elsewhere="; --format json has them all")

    def _seen(self, probe: ModuleProbe) -> str:
        kind = "forked child of a fresh interpreter" if self._probing.forked else "fresh interpreter"
        sentence = f"seen on {self._probing.device} in a {kind}"
        if probe.modules_loaded is not None:
            loaded = plural(probe.modules_loaded, "module")
            sentence += f" that loaded {loaded} in {duration(probe.seconds)}"
        if probe.waker is not None and probe.waker.thread not in ("MainThread", "") and probe.waker.module:
            sentence += f", on the thread {probe.waker.thread}"
        return sentence

    def _unjudged(self, probe: ModuleProbe) -> Iterator[str]:
        if probe.failure is not None and probe.failure.stack:
            last = probe.failure.stack[-1]
            yield f"  {self._sheet.paint('quiet', '-->')} {self._place(last.path, last.line)}"
        yield from self._output(probe)
        yield self._help(advice(probe))

    def _output(self, probe: ModuleProbe) -> Iterator[str]:
        printed = probe.output.rstrip().splitlines()
        if not printed:
            return
        shown = printed[-_MOST_OUTPUT:]
        cut = probe.output_cut or len(shown) < len(printed)
        yield self._note(f"{'the end of what' if cut else 'what'} it printed:")
        for line in shown:
            room = self._sheet.room(len(_INDENT) + 2)
            yield f"{_INDENT}| {self._sheet.letters.cut(self._sheet.letters.clean(line), room)}".rstrip()

    def _summary(self) -> Iterator[str]:
        probing = self._probing
        style = _STYLES[probing.status]
        behind = f" on {probing.device}, in forked children" if probing.forked else f" on {probing.device}"
        total = plural(len(probing.modules), "module")
        yield f"{self._sheet.paint(style, counts(probing))} of {total}{behind} in {duration(probing.seconds)}"
        if probing.interrupted:
            yield self._sheet.paint("warning", self._sheet.letters.clean(interruption(probing)))
        if probing.device == "none":
            yield "this machine has no accelerator to wake; coldfork probe --virtual h100 gives it one"

    def _note(self, sentence: str) -> str:
        return f"   = {self._sheet.say(sentence)}"

    def _help(self, sentence: str) -> str:
        return f"   = {self._sheet.paint('help', 'help:')} {self._sheet.say(sentence)}"

    def _place(self, path: str, line: int | None) -> str:
        where = self._sheet.letters.clean(self._options.locate(path))
        return self._sheet.paint("place", where if line is None else f"{where}:{line}")
