"""Rebuilds the tree of imports, which shows what each import caused, from a process's recorded loads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coldfork.model.timelines import Import
from coldfork.report.recordings.assembly.lines import ImportLine

#: A script is run and not imported, so there is never a line about its module.
_SCRIPT = "__main__"


def nested(lines: Iterable[ImportLine]) -> tuple[Import, ...]:
    """Return the outermost imports of a process, each with those it caused; `lines` must be in the file's
    order.

    A load ends after every load that it caused on the same thread. So when a load's line arrives, the loads
    that it caused are the last ones of its thread that began after it and have no parent yet.
    """
    threads: dict[int, list[tuple[Import, str | None]]] = {}
    for line in lines:
        waiting = threads.setdefault(line.tid, [])
        first = len(waiting)
        while first and _began_within(*waiting[first - 1], line):
            first -= 1
        children = tuple(span for span, _ in waiting[first:])
        del waiting[first:]
        span = Import(line.module, line.path, line.start, line.seconds, line.tid, children)
        waiting.append((span, line.parent))
    outermost = [span for waiting in threads.values() for span in _with_unfinished(waiting)]
    return tuple(sorted(outermost, key=lambda span: span.start))


def walk(imports: Iterable[Import]) -> Iterator[tuple[Import, int]]:
    """Yield each of these imports, then all imports below it, with their depths."""
    waiting = [(span, 0) for span in reversed(tuple(imports))]
    while waiting:
        span, depth = waiting.pop()
        yield span, depth
        if span.children:
            waiting += [(child, depth + 1) for child in reversed(span.children)]


def threads(imports: Iterable[Import]) -> dict[int, list[Import]]:
    """Return the outermost imports of each thread."""
    found: dict[int, list[Import]] = {}
    for span in imports:
        found.setdefault(span.thread, []).append(span)
    return found


def in_microseconds(imports: Iterable[Import]) -> Iterator[tuple[Import, int, int, int]]:
    """Yield every import, outer before inner, with its depth, beginning and end in whole microseconds.

    Rounding never makes an import exceed the one around it or overlap the next one, because trace viewers
    reject that. `imports` must belong to one thread.
    """
    stack: list[tuple[Iterator[Import], int, int | None]] = [(iter(tuple(imports)), 0, None)]
    free = -(10**16)
    while stack:
        level, depth, limit = stack[-1]
        span = next(level, None)
        if span is None:
            stack.pop()
            free = free if limit is None else limit
            continue
        begin = max(free, round(span.start * 1e6))
        end = max(begin, round((span.start + span.seconds) * 1e6))
        if limit is not None:
            begin, end = min(begin, limit), min(end, limit)
        yield span, depth, begin, end
        free = begin
        stack.append((iter(span.children), depth + 1, end))


def _began_within(span: Import, parent: str | None, line: ImportLine) -> bool:
    return span.start > line.start or (span.start == line.start and parent == line.module)


def _with_unfinished(waiting: list[tuple[Import, str | None]]) -> Iterator[Import]:
    """Yield the loads; a load whose parent never ended, and so has no line, gets a made-up parent."""
    orphans: list[Import] = []
    missing: str | None = None
    for span, parent in waiting:
        wanted = None if parent == _SCRIPT else parent
        if orphans and wanted != missing:
            yield _unfinished(missing, orphans)
            orphans = []
        missing = wanted
        if wanted is None:
            yield span
        else:
            orphans.append(span)
    if orphans:
        yield _unfinished(missing, orphans)


def _unfinished(module: str | None, children: list[Import]) -> Import:
    start = children[0].start
    seconds = max(child.start + child.seconds for child in children) - start
    return Import(module or "", None, start, seconds, children[0].thread, tuple(children), finished=False)
