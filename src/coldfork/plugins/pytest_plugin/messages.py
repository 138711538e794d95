"""The pytest plugin's messages about wakes and forks, in the words of the other reports."""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from coldfork.launch.probe.report_paths import Origins
from coldfork.model.effects import EffectKind
from coldfork.model.states import Waker
from coldfork.plugins.pytest_plugin.sightings import SeenFork, SeenWake
from coldfork.report.shared.characters import Alphabet, one_line, printable
from coldfork.report.shared.effects import (
    Row,
    calls_to_device,
    effect_of,
    effect_phrase,
    frame_rows,
    import_rows,
    inside,
    rule_of,
)
from coldfork.report.shared.sheets import table

_INDENT = " " * 6
#: Only ASCII, because a test report may go to any terminal and any log.
_LETTERS = Alphabet("utf-8", "...")
_Info = tuple[os.PathLike[str] | str, int | None, str]
"""The path, the line counted from 0, and the name that pytest gives for a test."""


@dataclass(frozen=True, slots=True)
class Message:
    """A headline, and the details below it."""

    headline: str
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join((self.headline, *self.lines))


class Words:
    """Writes messages, with paths relative to the folder where pytest was started."""

    def __init__(self, folder: Path, device: str, is_test: Callable[[str], bool]) -> None:
        self._folder = folder
        self._seen = "a machine without a GPU" if device == "none" else device
        self._is_test = is_test
        self._origins = Origins()

    def wake(self, wake: SeenWake, headline: str, *, in_test: bool, test: _Info | None = None) -> Message:
        """Return a message about a wake: its cause and remedy; `test` is the place of the waking test."""
        waker = wake.waker
        lines = [*self._site(waker, test), *self._calls(wake), *self._imports(waker)]
        lines.append(_note("processes forked from this one from now on cannot use the device"))
        lines.append(_note(f"seen on {self._seen}{_thread(waker.thread)}"))
        lines.append(_note(f"help: {self._remedy(wake, in_test=in_test)}"))
        return Message(printable(headline), tuple(lines))

    def fork(self, fork: SeenFork, headline: str, woken: Sequence[str], nodeid: str | None) -> Message:
        """Return a message about a fork whose child cannot use the device: its place and its cause."""
        lines = []
        site = fork.site
        if site is not None:
            lines.append(f"  --> {self.place(site.path, site.line)}{_standing(site.function)}")
            lines += self._source(site.path, site.line)
            at = fork.stack.index(site)
            forks = ("fork", effect_phrase(EffectKind.FORKS, None))
            lines += _table([*frame_rows(fork.stack[at + 1 :], self.place), forks], numbered=True)
            if at:
                lines += ["  called from", *_table(frame_rows(fork.stack[:at], self.place), numbered=False)]
        lines += map(_note, woken)
        known = [fork.verdicts[name] for name in fork.awake if name in fork.verdicts]
        conditions = dict.fromkeys(verdict.condition for verdict in known)
        said = "; ".join(filter(None, conditions)) or "a child forked now cannot use the device"
        lines.append(_note(f"{said}; seen on {self._seen}{_thread(fork.thread)}"))
        lines.append(
            _note("help: start the process with spawn or forkserver, or fork while the device is cold")
        )
        if nodeid is not None:
            lines.append(_note(f"next: follow the child with coldfork run --follow -m pytest {nodeid}"))
        return Message(printable(headline), tuple(lines))

    def first_conftest(self, wakes: Sequence[SeenWake]) -> str | None:
        """Return the conftest file whose import led to the first of these wakes."""
        paths = [site.path for wake in wakes[:1] for site in wake.waker.import_chain if site.path]
        first = next((path for path in paths if path.endswith("conftest.py")), None)
        return self.place(first, None) if first else None

    def in_short(self, wake: SeenWake) -> str:
        """Return the place and the call as one line, such as `engine/a.py:12, torch.cuda.current_device`."""
        waker = wake.waker
        if waker.path is None:
            return f"in {waker.module}" if waker.module else "the line was not seen"
        place = self.place(waker.path, waker.line)
        return f"{place}, {printable(waker.call)}" if waker.call else place

    def place(self, path: str, line: int | None) -> str:
        """Return a place as `path:line`, relative to the folder where pytest was started."""
        file = Path(path)
        if file.is_relative_to(self._folder):
            where = file.relative_to(self._folder).as_posix()
        else:
            where = self._origins.path(path)
        return printable(where if line is None else f"{where}:{line}")

    def _site(self, waker: Waker, test: _Info | None) -> Iterator[str]:
        if waker.path is None:
            if test is not None:
                path, line, name = test
                place = self.place(str(path), None if line is None else line + 1)
                yield f"  --> {place}  in {printable(name)}"
            elif waker.module:
                yield f"  --> {printable(waker.module)}"
            yield _note("the line was not seen; find it with pytest --coldfork-exact")
            return
        behind = _standing(waker.function) if waker.line else "  (the line was not seen)"
        yield f"  --> {self.place(waker.path, waker.line)}{behind}"
        yield from self._source(waker.path, waker.line)

    def _source(self, path: str, line: int | None) -> Iterator[str]:
        text = linecache.getline(path, line).strip() if line else ""
        if text:
            yield _INDENT + printable(text)

    def _calls(self, wake: SeenWake) -> Iterator[str]:
        waker = wake.waker
        effect = effect_phrase(effect_of(wake.level), wake.accelerator) if wake.level else ""
        rows = frame_rows(calls_to_device(waker), self.place)
        if waker.call:
            rows.append((waker.call, effect))
        yield from _table(rows, numbered=True)
        if effect and not waker.call:
            yield _note(effect)

    def _imports(self, waker: Waker) -> Iterator[str]:
        rows = import_rows(waker, self.place)
        if rows:
            yield "  imported through"
            yield from _table(rows, numbered=False)

    def _remedy(self, wake: SeenWake, *, in_test: bool) -> str:
        waker = wake.waker
        read = f"read more: coldfork rule {rule_of(wake.level)}"
        if in_test and not wake.imported:
            return "if the test is meant to wake it, mark it with @pytest.mark.wakes_device"
        if waker.path is not None and self._is_test(waker.path):
            return f"ask in a fixture or in the test, not while the module is imported; {read}"
        if waker.line is None and waker.module:
            return f"find the line with coldfork probe {waker.module}; {read}"
        return f"compute it on first use, not while the module is imported; {read}"


def _thread(name: str) -> str:
    """Return a phrase about the thread; its number is omitted, because it differs between workers of
    a run.
    """
    if name in ("MainThread", ""):
        return ""
    if name.startswith("unknown: "):
        return f", on one of the threads {name.removeprefix('unknown: ')}"
    return ", on another thread" if name.removeprefix("thread ").isdigit() else f", on the thread {name}"


def _standing(function: str | None) -> str:
    name = inside(function)
    return f"  in {printable(name)}" if name else ""


def _note(sentence: str) -> str:
    return f"   = {printable(one_line(sentence))}"


def _table(rows: Sequence[Row], *, numbered: bool) -> Iterator[str]:
    return table(rows, _LETTERS, numbered=numbered)
