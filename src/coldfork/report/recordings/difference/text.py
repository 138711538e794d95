"""The differences between two recordings as text; a minus marks what is gone, a plus what is new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coldfork.model.timelines import Recording, Wake
from coldfork.report.recordings.difference.comparison import Difference, ModuleSeen, difference, roots
from coldfork.report.recordings.familiar_paths import for_people
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.outcomes import Outcome
from coldfork.report.shared.effects import inside
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import duration, plural
from coldfork.report.shared.sheets import Sheet

_MOST = 15


def render(before: Recording, after: Recording, options: Options) -> str:
    """Write the difference as text."""
    sheet = Sheet(options)
    before, after = (for_people(recording, options)[0] for recording in (before, after))
    found = difference(before, after)
    parts = (
        [_verdict("before", before, found.before, sheet), _verdict("after ", after, found.after, sheet)],
        _doubts(found, sheet),
        _wakes(found, sheet),
        _starts(found, sheet),
        _states(found, sheet),
        _imports(found, sheet),
        _times(found, sheet),
        [sheet.paint("clean", "nothing but times differs")] if found.same else [],
    )
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part))) + "\n"


def wake_words(wake: Wake) -> str:
    """Return a wake as one line: accelerator, place and imports."""
    waker = wake.waker
    if waker is None:
        return f"{phrases.waking(wake)} by {phrases.NO_PLACE}"
    function = inside(waker.function)
    where = f" in {function}" if function else ""
    chain = " > ".join(site.module for site in waker.import_chain)
    return f"{phrases.waking(wake)} by {phrases.place(waker.path, waker.line)}{where}" + (
        f", through {chain}" if chain else ""
    )


def module_words(one: ModuleSeen, along: int) -> str:
    """Return a module that came or went, with its importer and the number of modules below it."""
    importer = f", imported by {one.importer}" if one.importer else ""
    more = f", with {plural(along, 'module')} below it" if along else ""
    return f"{one.module}{importer}{more}"


def _verdict(label: str, recording: Recording, summed_up: Outcome, sheet: Sheet) -> str:
    standing = sheet.paint("title", summed_up.standing.value)
    return f"{label}  {sheet.say(recording.name)}: {standing}: {sheet.say(summed_up.headline)}"


def _doubts(found: Difference, sheet: Sheet) -> Iterator[str]:
    for label, summed_up in (("before", found.before), ("after", found.after)):
        for doubt in summed_up.doubts:
            yield f"  {sheet.paint('warning', '!')} {label}: {sheet.say(doubt)}"


def _wakes(found: Difference, sheet: Sheet) -> Iterator[str]:
    gone = [wake_words(wake) for wake in found.wakes_gone]
    new = [wake_words(wake) for wake in found.wakes_new]
    yield from _titled("wakes", _signed(gone, new, sheet), sheet)


def _starts(found: Difference, sheet: Sheet) -> Iterator[str]:
    lines = [f"  {one.before} -> {one.after}  {sheet.say(one.what)}" for one in found.starts]
    yield from _titled("forks and other starts", lines, sheet)


def _states(found: Difference, sheet: Sheet) -> Iterator[str]:
    lines = (
        f"  {sheet.say(one.processes)}\n    {sheet.say(one.before)} -> {sheet.say(one.after)}"
        for one in found.states
    )
    yield from _titled("states at the end", lines, sheet)


def _imports(found: Difference, sheet: Sheet) -> Iterator[str]:
    counts = f"imports: {found.modules[0]} -> {found.modules[1]} modules"
    whole = f"{duration(found.seconds[0])} -> {duration(found.seconds[1])} in the first process"
    yield f"{sheet.paint('title', counts)}, {whole}"
    gone = [module_words(one, along) for one, along in roots(found.imports_gone)]
    new = [module_words(one, along) for one, along in roots(found.imports_new)]
    yield from _signed(gone, new, sheet)
    moved = [
        f"{new.module}: first import by {new.importer or 'the program'}, previously by {old.importer or 'it'}"
        for old, new in found.importers
    ]
    yield from (f"  ~ {sheet.cut(line, 4)}" for line in moved[:_MOST])
    yield from _more(len(moved), sheet)


def _times(found: Difference, sheet: Sheet) -> Iterator[str]:
    lines = []
    for change in found.times[:_MOST]:
        sign = "+" if change.seconds > 0 else "-"
        times = f"{duration(change.before)} -> {duration(change.after)}"
        change_words = sign + duration(abs(change.seconds))
        lines.append(f"  {change_words:>9}  {sheet.say(change.module)}  {times}")
    lines += _more(len(found.times), sheet)
    yield from _titled("own import times", lines, sheet)


def _titled(title: str, lines: Iterable[str], sheet: Sheet) -> Iterator[str]:
    held = list(lines)
    if held:
        yield sheet.paint("title", title)
        yield from held


def _signed(gone: list[str], new: list[str], sheet: Sheet) -> Iterator[str]:
    for sign, style, items in (("-", "clean", gone), ("+", "warning", new)):
        yield from (f"  {sheet.paint(style, sign)} {sheet.cut(item, 4)}" for item in items[:_MOST])
        yield from _more(len(items), sheet)


def _more(count: int, sheet: Sheet) -> Iterator[str]:
    if count > _MOST:
        words = f"{count - _MOST} more; --format json has them all"
        yield f"  {sheet.paint('quiet', f'{sheet.letters.ellipsis} {words}')}"
