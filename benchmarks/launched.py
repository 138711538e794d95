"""Published faults in how programs start processes: mended, or shown, or left, and what proves it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import mount
from coldfork.checking.reporting import report_of
from coldfork.checking.request import configured
from coldfork.checking.session import CheckSession
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.mending.mender import Mending, mend
from coldfork.mending.proving import ProofRequest, prove
from coldfork.model.causes import Applicability, Fix
from coldfork.model.findings import Report
from coldfork.model.probes import ModuleProof, Outcome, ProbeStatus
from published.errors import UnavailableError
from published.sources import Wanted

TABLE = Path(__file__).with_name("launched.json")
SCHEMA = 1
DEVICE = "h100"

Fetch = Callable[[Wanted], Path]
Count = Callable[[bytes, bytes, set[str]], int]


@dataclass(frozen=True, slots=True)
class Launch:
    """One published fault of a program that starts processes, with its buggy and fixed versions."""

    id: str
    rule: str
    package: str
    buggy: str
    top: str
    path: str
    """The file of the fault, from the folder that holds the top package."""
    names: tuple[str, ...]
    """The names by which changed lines count, on both sides."""
    fixed: str | None = None
    url: str | None = None
    target: str | None = None
    """The Python for which the fault shows."""
    program: Mapping[str, str] = field(default_factory=dict)
    """A small program that uses the package, for faults that show in what its users run."""
    kept_back: bool = False
    """Whether it was set aside before the fixes of starts were written."""
    taught: bool = False
    """Whether its first outcome led to a change all the same."""
    unseen: str = ""
    """Why `check` cannot know of the fault."""


@dataclass(frozen=True, slots=True)
class Launched:
    """The outcome of mending one fault."""

    case: Launch
    fix: str
    """`written`, `shown`, `refused` or `not found`."""
    reason: str
    """Why it is not written."""
    ours: int = 0
    theirs: int | None = None
    proof: str = ""
    """The proof of a fix that is written; empty where there is none."""


def load(table: Path = TABLE) -> tuple[Launch, ...]:
    """Read the table of faults; ids are unique."""
    data = json.loads(table.read_text(encoding="utf-8"))
    if data.get("schema") != SCHEMA:
        raise UnavailableError(f"{table.name} has schema {data.get('schema')}, this program reads {SCHEMA}")
    cases = tuple(Launch(**{**row, "names": tuple(row["names"])}) for row in data["cases"])
    if len({case.id for case in cases}) != len(cases):
        raise UnavailableError(f"{table.name} names a fault twice")
    return cases


def of_launch(case: Launch, fetch: Fetch, scratch: Path, naming: Count) -> Launched:
    """Mend the buggy version of a fault in memory, and prove what was mended."""
    root = mount.package_root(fetch(Wanted.parse(f"{case.package}=={case.buggy}")), case.top)
    nothing, beside = scratch / "nothing", scratch / case.id
    for name, text in case.program.items():
        beside.mkdir(exist_ok=True)
        (beside / name).write_text(text, encoding="utf-8")
    nothing.mkdir(exist_ok=True)
    asked = {"site-packages": (str(nothing),), "profile": None, "target-version": case.target}
    request = configured((root / case.top, *(beside / name for name in case.program)), asked, {})
    with CheckSession() as session:
        causes = _causes(case, report_of(session.inspect(request)))
        if not causes:
            return Launched(case, "not found", case.unseen)
        done = mend(request, session.inspect, Applicability.UNSAFE, causes=causes)
    left = causes & _causes(case, done.report)
    if left:
        fixes = [fix for fix in map(done.left.get, sorted(left)) if fix is not None]
        shown = [fix for fix in fixes if isinstance(fix, Fix) and fix.applicability is Applicability.SHOWN]
        is_shown = len(shown) == len(left)
        return Launched(case, "shown" if is_shown else "refused", (shown if is_shown else fixes)[-1].reason)
    ours = sum(naming(file.before, file.after, set(case.names)) for file in done.files)
    theirs = None
    if case.fixed is not None:
        fixed = mount.package_root(fetch(Wanted.parse(f"{case.package}=={case.fixed}")), case.top)
        before, after = ((each / case.path).read_bytes() for each in (root, fixed))
        theirs = naming(before, after, set(case.names))
    return Launched(case, "written", "", ours, theirs, _proof(done, scratch))


def _causes(case: Launch, report: Report) -> frozenset[str]:
    """Return the causes of this rule in the file of the fault, or in the program that uses the package."""
    judged = {one.id for one in report.findings if one.rule == case.rule}
    return frozenset(
        cause.id
        for cause in report.causes
        if judged & set(cause.findings)
        and (cause.path.endswith(case.path) or Path(cause.path).name in case.program)
    )


def _proof(done: Mending, folder: Path) -> str:
    """Import the mended modules before and after, on a virtual device; empty if that refutes the fix."""
    setup = ProbeSetup(sys.executable, DEVICE)
    proof = prove(done, done.files, ProofRequest(setup, folder))
    return "" if any(map(_is_refuted, proof.modules)) else "; ".join(map(_import, proof.modules))


def _is_refuted(module: ModuleProof) -> bool:
    return module.outcome is Outcome.REFUTED


def _import(module: ModuleProof) -> str:
    after = module.after
    if after is not None and after.status is ProbeStatus.COLD:
        return f"its import is cold, with {module.same + module.alike} names as before"
    failure = None if after is None else after.failure
    return "it cannot be imported here" + (f": {failure.message}" if failure is not None else "")


def table(results: Iterable[Launched]) -> str:
    """The results as rows of Markdown."""
    rows = [
        "| version | rule | fix | our lines | the maintainers' | proof, or reason |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in results:
        version = f"{one.case.package} {one.case.buggy}" + ("\\*" if one.case.taught else "")
        lines = ["" if number is None else str(number or "") for number in (one.ours, one.theirs)]
        why = (f"`check` is silent; {one.proof}" if one.proof else one.reason).replace("|", "\\|")
        rows.append(f"| {' | '.join((version, f'`{one.case.rule}`', one.fix, *lines, why))} |")
    return "\n".join(rows)


def summary(results: Sequence[Launched]) -> str:
    """The counts in a sentence."""
    written = sum(one.fix == "written" for one in results)
    proven = sum(bool(one.proof) for one in results)
    shown = sum(one.fix == "shown" for one in results)
    unseen = sum(one.fix == "not found" for one in results)
    return (
        f"Of {len(results)} faults {written} are mended, {proven} of them proven; for {shown} the edit is\n"
        f"shown with the step that is left to the author; {unseen} are not found."
    )
