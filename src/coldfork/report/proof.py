"""The outcome of `--prove`: lines for people, tables for a pull request, and JSON objects for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from coldfork.report.shared.characters import one_line, printable, well_formed
from coldfork.report.shared.json_text import optional
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import plural

if TYPE_CHECKING:
    from coldfork.model.probes import CommandEnd, ModuleProbe, ModuleProof, NameChange, Proof

_MOST_CHANGES = 10


def proof_text(proof: Proof) -> str:
    """Return the outcome as lines of text, which are not wrapped."""
    return "".join(f"{printable(line)}\n" for line in (f"proof: {proof_head(proof)}", *proof_details(proof)))


def proof_details(proof: Proof) -> Iterator[str]:
    """Yield the outcome for each module, then for the tests, as lines of text."""
    for module in proof.modules:
        yield f"  {module.module}: {'; '.join(_clauses(module))}"
    tests = proof.tests
    if tests is not None:
        yield f"  tests, `{tests.command}`: before: {_end(tests.before)}; after: {_end(tests.after)}"


def proof_markdown(proof: Proof, options: Options) -> str:
    """Return the outcome as tables, for those who review the change."""
    parts = [f"### What the fixes change\n\n{_plain(proof_head(proof))}."]
    if proof.modules:
        rows = ["| module | import before | import after | public names |", "| --- | --- | --- | --- |"]
        rows += map(_row, proof.modules)
        parts.append("\n".join(rows))
    if changes := [
        f"- `{_plain(module.module)}.{_plain(change.name)}` {_change(change)}"
        for module in proof.modules
        for change in module.changes
    ]:
        parts.append("\n".join(changes))
    tests = proof.tests
    if tests is not None:
        head = "| tests | before | after |\n| --- | --- | --- |\n"
        cells = (f"`{_cell(tests.command)}`", _cell(_end(tests.before)), _cell(_end(tests.after)))
        parts.append(f"{head}| {' | '.join(cells)} |")
    parts.append(f"_coldfork {options.version}_" if options.version else "_coldfork_")
    return "\n\n".join(parts) + "\n"


def proof_object(proof: Proof) -> dict[str, Any]:
    """Return the outcome as a JSON object, with keys in the order of the schema."""
    tests = proof.tests
    return {
        "device": well_formed(proof.device),
        "mended": proof.mended,
        "left": proof.left,
        "refuted": proof.refuted,
        "interrupted": proof.interrupted,
        "modules": [_module_object(module) for module in proof.modules],
        "tests": None
        if tests is None
        else {
            "command": well_formed(tests.command),
            "outcome": tests.outcome.value,
            "before": _end_object(tests.before),
            "after": _end_object(tests.after),
        },
    }


def _module_object(module: ModuleProof) -> dict[str, Any]:
    return {
        "module": well_formed(module.module),
        "path": well_formed(module.path),
        "outcome": module.outcome.value,
        "reason": optional(module.reason or None),
        "before": _import_object(module.before),
        "after": _import_object(module.after),
        "same": module.same,
        "alike": module.alike,
        "changes": [
            {
                "name": well_formed(change.name),
                "before": optional(change.before),
                "after": optional(change.after),
                "import": change.is_import,
            }
            for change in module.changes
        ],
    }


def _import_object(seen: ModuleProbe | None) -> dict[str, Any] | None:
    if seen is None:
        return None
    waker = seen.waker
    return {
        "status": seen.status.value,
        "reason": optional(seen.reason),
        "accelerator": optional(seen.accelerator),
        "path": optional(None if waker is None else waker.path),
        "line": None if waker is None else waker.line,
    }


def _end_object(end: CommandEnd) -> dict[str, Any]:
    return {"status": end.status, "said": well_formed(end.said)}


def proof_head(proof: Proof) -> str:
    """Return how many causes were mended, and the outcome of the imports."""
    mended = f"{plural(proof.mended, 'cause')} mended, {proof.left or 'none'} left"
    if not proof.modules:
        return f"{mended}; no module was changed, so nothing was imported"
    counts = [f"{count} {outcome.replace('-', ' ')}" for outcome, count in proof.counts.items() if count]
    stopped = "; interrupted" if proof.interrupted else ""
    return f"{mended}; {plural(len(proof.modules), 'module')} on {proof.device}: {', '.join(counts)}{stopped}"


def _clauses(module: ModuleProof) -> Iterator[str]:
    if module.reason:
        yield f"not testable, because {one_line(module.reason)}"
        return
    yield f"{_import(module.before)} before, {_import(module.after)} after"
    yield _names(module)
    for change in module.changes[:_MOST_CHANGES]:
        yield f"`{change.name}` {_change(change)}"
    if len(module.changes) > _MOST_CHANGES:
        yield f"{len(module.changes) - _MOST_CHANGES} more differ; --format json lists them"


def _row(module: ModuleProof) -> str:
    name = f"`{_cell(module.module)}`"
    if module.reason:
        return f"| {name} | not testable | not testable | {_cell(module.reason)} |"
    cells = (_import(module.before), _import(module.after), _names(module))
    return f"| {name} | {' | '.join(map(_cell, cells))} |"


def _import(seen: ModuleProbe | None) -> str:
    """Return the outcome of an import in words, such as `wakes cuda, by engine/caps.py:7`."""
    if seen is None:
        return "not known"
    if seen.status == "cold":
        return "cold"
    if seen.status == "woken":
        by = seen.waker
        if by is None or by.path is None:
            return f"wakes {seen.accelerator}"
        return f"wakes {seen.accelerator}, by {by.path}" + (f":{by.line}" if by.line else "")
    return f"{seen.status}: {one_line(seen.reason or '')}".rstrip(": ")


def _names(module: ModuleProof) -> str:
    if module.before is None or module.before.values is None or module.after is None:
        return "not compared"
    if module.after.values is None:
        return "not readable"
    parts = [f"{module.same} the same"]
    if module.alike:
        parts.append(f"{module.alike} of the same type")
    real = sum(not change.is_import for change in module.changes)
    if real:
        parts.append(f"{real} differ" if real > 1 else "1 differs")
    if len(module.changes) > real:
        parts.append(f"{plural(len(module.changes) - real, 'import')} moved")
    return ", ".join(parts)


def _change(change: NameChange) -> str:
    if change.is_import:
        return "was bound by an import that has moved"
    held = "was not there" if change.before is None else f"held {_quoted(change.before)}"
    holds = "is gone" if change.after is None else f"holds {_quoted(change.after)}"
    return f"{held} and {holds}"


def _quoted(text: str) -> str:
    return f"`{_plain(text).replace('`', chr(39))}`"


def _end(end: CommandEnd) -> str:
    if end.status is None:
        return end.said
    how = "passed" if end.status == 0 else f"failed with {end.status}"
    return f"{how} ({one_line(end.said)})" if end.said else how


def _plain(text: str) -> str:
    return printable(one_line(text))


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")
