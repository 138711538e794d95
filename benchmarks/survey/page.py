"""Writes docs/survey.md from what is known of each release."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.survey.listing import Reading, key

_MOST_ROWS = 40
"""A longer patch is not printed."""
MOST_LISTED = 4
"""The widest lines of a package are listed with all that is known of them; of the others, the place."""
_MOST_PLACES = 3
_LONGEST = 90
"""A longer condition is not printed."""
_PROSE = (" imports", " is unset", " is not set", " is set", " is installed", " works", " fails")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Surveyed:
    """All that is known of one release."""

    name: str
    version: str
    row: Row
    read: Mapping[str, Reading]
    """The readings of its own lines, by their keys."""
    imported: Mapping[str, Reading]
    """The readings of packages that wake when they are imported."""
    fixes: Row
    probes: Mapping[str, Row]
    """What importing a cause's module did, by the module."""

    @property
    def own(self) -> list[Row]:
        """The causes that are calls of its own, and were read and found true."""
        return [cause for cause in self.row["causes"] if not _target(cause) and self._reading(cause).true]

    @property
    def imports(self) -> dict[str, list[Row]]:
        """The causes that are imports of packages that wake, by package."""
        found: dict[str, list[Row]] = {}
        for cause in self.row["causes"]:
            target = _target(cause)
            if target != _top(cause) and self.imported.get(target, _UNREAD).true:
                found.setdefault(target, []).append(cause)
        return dict(sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])))

    @property
    def left_out(self) -> list[tuple[Row, Reading | None]]:
        """The causes that are not listed: read and false, or not read (None)."""
        listed = {
            cause["id"] for cause in (*self.own, *(one for group in self.imports.values() for one in group))
        }
        return [
            (cause, self.imported.get(_target(cause)) or self.read.get(key(cause["path"], cause["call"])))
            for cause in self.row["causes"]
            if cause["id"] not in listed and _target(cause) != _top(cause)
        ]

    @property
    def shown(self) -> list[Row]:
        """The causes that are listed with all that is known of them."""
        return self.own[:MOST_LISTED]

    def _reading(self, cause: Row) -> Reading:
        return self.read.get(key(cause["path"], cause["call"]), _UNREAD)

    def note(self, cause: Row) -> str:
        """What reading a cause showed, beside that it is true."""
        return self._reading(cause).note


_UNREAD = Reading(False)


def _top(cause: Row) -> str:
    return str(cause["path"]).partition("/")[0]


def _target(cause: Row) -> str:
    """The package that a cause imports; empty for a call."""
    word, _, name = str(cause["call"]).partition(" ")
    return name.partition(".")[0] if word == "import" else ""


def page(surveyed: Sequence[Surveyed], date: str) -> str:
    """The whole page."""
    found = [one for one in surveyed if one.own or one.imports]
    cold = ", ".join(f"{one.name} {one.version}" for one in surveyed if one not in found)
    unread = sum(reading is None for one in surveyed for _, reading in one.left_out)
    left = f" {unread} of the findings were not read yet and are left out." if unread else ""
    parts = [_HEAD.format(date=date, count=len(surveyed), left=left, table=_table(found), cold=cold)]
    parts += [_section(one) for one in found]
    return "\n\n".join(parts) + "\n"


def _table(found: Iterable[Surveyed]) -> str:
    rows = [
        "| package | modules | wake | wake if | lines of its own | imports what wakes |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in found:
        surely, warm = one.row["surely"], one.row["warm"]
        cells = (
            f"[{one.name}](#{anchor(one)}) {one.version}",
            *(str(number) for number in (one.row["modules"], surely, warm - surely)),
            str(len(one.own) or ""),
            ", ".join(one.imports),
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def anchor(one: Surveyed) -> str:
    """The name that the site gives a section's heading."""
    return f"{one.name} {one.version}".lower().replace(" ", "-").replace(".", "")


def _section(one: Surveyed) -> str:
    lines = [f"## {one.name} {one.version}", ""]
    for cause in one.shown:
        lines += _own(one, cause)
    if more := one.own[MOST_LISTED:]:
        places = ", ".join(dict.fromkeys(f"`{_first(cause)}`" for cause in more))
        lines.append(f"- {len(more)} more lines wake it, or would if these did not: {places}.")
    lines += [_group(target, causes) for target, causes in one.imports.items()]
    lines += _patches(one, {cause["path"] for cause in one.shown})
    return "\n".join(lines)


def _own(one: Surveyed, cause: Row) -> Iterator[str]:
    first, last = _first(cause), f"{cause['path']}:{cause['line']}"
    through = f", through `{last}`," if first != last else ""
    # What wakes with it may be tests as well, which are not counted.
    count = min(len(cause["warms"]), one.row["warm"])
    modules = f"{count} modules, `{min(cause['warms'], key=len)}` among them" if count > 1 else "one module"
    yield f"- `{first}`{through} calls `{cause['call']}`: {_sure(cause)}. It wakes {modules}."
    if note := one.note(cause):
        yield f"  {note}"
    if cause["module"] in one.probes:
        yield f"  {_said(cause, one.probes[cause['module']])}"


def _first(cause: Row) -> str:
    """The line that runs because somebody imports its module."""
    path, line, _ = cause["chain"][0]
    return f"{path}:{line}"


def _sure(cause: Row) -> str:
    said = f"if {_code(cause['condition'])}" if cause["condition"] else "certain"
    if cause["presumed"]:
        said += f", presuming that {' and '.join(map(_code, cause['presumed']))}"
    return said


def _code(text: str) -> str:
    """A condition as prose where it is prose, else as code."""
    if len(text) > _LONGEST:
        return "several conditions hold, which `check` prints"
    return text if text.endswith(_PROSE) or "`" in text else f"`{text}`"


def _said(cause: Row, probe: Row) -> str:
    if probe["status"] == "cold":
        return "Imported on a virtual device, it stays cold."
    if probe["status"] != "woken":
        return f"It cannot be imported here: {probe['reason']}."
    by = probe["woken_by"] or {"path": None, "line": None, "stack": []}
    places = {(frame["path"], frame["line"]) for frame in (by, *by["stack"])}
    if (cause["path"], cause["line"]) in places:
        return "Confirmed by `coldfork probe` on a virtual device."
    return f"`coldfork probe` sees a virtual device woken before, at `{by['path']}:{by['line']}`."


def _patches(one: Surveyed, shown: Collection[str]) -> Iterator[str]:
    patches: dict[str, str] = one.fixes.get("patches", {})
    if not patches:
        return
    mended = {cause["id"] for cause in one.shown if cause["path"] in patches}
    flag = "--fix" if mended <= set(one.fixes["safe"]) else "--fix=unsafe"
    text = "".join(patches[name] for name in patches)
    rows = len(text.splitlines())
    if rows > _MOST_ROWS or not patches.keys() & shown:
        files = ", ".join(f"`{name}`" for name in patches)
        yield f"\n`coldfork check {flag}` mends {files} with a patch of {rows} lines."
    else:
        yield f"\n`coldfork check {flag} --diff` prints\n\n```diff\n{text.rstrip()}\n```"


def _group(target: str, causes: Sequence[Row]) -> str:
    by_reach = sorted(causes, key=lambda cause: -len(cause["warms"]))
    places = list(dict.fromkeys(f"`{_first(cause)}`" for cause in by_reach))
    more = f" and at {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
    verdicts = {cause["verdict"] for cause in causes}
    some = "partly conditional" if len(verdicts) > 1 else verdicts.pop()
    return f"- `{target}` is imported at {', '.join(places[:_MOST_PLACES])}{more}: {some}."


_HEAD = """# Survey

Which modules of widely used packages wake a device when they are imported. The newest releases of {count}
packages were checked, each with the sources of what it requires beside it. `./dev survey` fetches them,
checks them and writes this page; this one is of {date}.

Each line was read before it was listed; where a line imports a package that wakes, that package was
read.{left}

A module *wakes* if importing it initialises the driver or creates a context on a machine with an
NVIDIA GPU. It wakes *if* a condition holds: mostly, if an optional package is installed or a variable is set.
Tests, examples, benchmarks and build scripts of the packages are left out.
[CUDA in child processes](how-to/cuda-in-child-processes.md) says what a wake costs.

{table}

Nothing was found in {cold}."""
