"""Runs coldfork on real bugs, buggy and fixed version: `./dev bench cases [--only ID] [--entry NAME]`"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import judging, mount, tool
from benchmarks.caselist import Case, load
from benchmarks.judging import Outcome
from benchmarks.promises import PROMISES, Promise, Shop
from benchmarks.tool import Report
from published import places, sources
from published.errors import UnavailableError
from published.index import Index, configured
from published.sources import Wanted


class Fetcher:
    """Brings sources here when they are missing; asks pip for the index only then."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index: Index | None = None

    def __call__(self, wanted: Wanted) -> Path:
        """The folder of a version's sources."""
        here = sources.present(wanted, self.folder)
        if here is not None:
            return here
        self._index = self._index or configured()
        print(f"fetching {wanted.folder} ...", file=sys.stderr)
        return sources.fetch(wanted, self.folder, self._index, lambda line: None)


def run(case: Case, shop: Shop) -> Outcome:
    """Check the buggy and the fixed version of a case."""
    buggy = _checked(case, case.buggy[0], shop)
    found = tuple(judging.seen(culprit, tool.waking(buggy)) for culprit in case.culprits)
    if case.fixed is None:
        return Outcome(case, found, None, None)
    fixed = tool.waking(_checked(case, case.fixed, shop))
    before, after = (_reader(case, wanted, shop) for wanted in (case.buggy[0], case.fixed))
    totals = tool.counts(fixed)
    place = judging.still_there(case, fixed, before, after)
    return Outcome(case, found, place, (totals["certain"], totals["conditional"]))


def _checked(case: Case, version: Wanted, shop: Shop) -> Report:
    beside = None
    if case.beside:
        chosen = [version if one == case.package else one for one in case.beside]
        companions = [one for one in chosen if isinstance(one, Wanted)]
        beside = shop.beside(f"beside-{case.id}-{version.version}", companions)
    return tool.check(_target(case, version, shop), beside, case.profile)


def _target(case: Case, version: Wanted, shop: Shop) -> Path:
    if case.program is None:
        return mount.package_root(shop.fetch(version), case.top) / case.top
    folder = shop.scratch / f"program-{case.id}"
    for name, text in case.program.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / case.top


def _reader(case: Case, version: Wanted, shop: Shop) -> judging.Lines:
    roots = [_target(case, version, shop).parent, shop.fetch(version)]

    def lines(path: str) -> Sequence[str] | None:
        for root in roots:
            if (root / path).is_file():
                return (root / path).read_text(encoding="utf-8", errors="replace").splitlines()
        return None

    return lines


def show(outcome: Outcome) -> None:
    """Print one case: what was found, how surely, and what is left in the fixed version."""
    case = outcome.case
    mark = "ok  " if not outcome.failures else "FAIL"
    guard = f"guarded by {case.guarded}" if case.guarded else "unguarded"
    print(f"{mark} {case.id}  ({case.package} {case.buggy[0].version}, {guard})")
    for found in outcome.found:
        place = " or ".join(map(str, found.culprit.places))
        print(f"       {place}: finding {found.at_line or '-'}, in a chain {found.in_chain or '-'}")
    if case.fixed is not None and outcome.fixed_totals is not None:
        certain, conditional = outcome.fixed_totals
        at_place = outcome.fixed_at_place or "nothing"
        note = " (the fix wakes the device itself)" if case.fix_is_warm else ""
        print(
            f"       fixed in {case.fixed.version}: {at_place} at the place{note}, "
            f"{certain} certain and {conditional} conditional in all"
        )
    for failure in outcome.failures:
        print(f"       {failure}")


def totals(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Recall, certain rate and false alarms over the cases that were run."""
    culprits = [found for outcome in outcomes for found in outcome.found]
    unguarded = [outcome for outcome in outcomes if outcome.case.guarded is None]
    fixed = [outcome for outcome in outcomes if outcome.case.fixed is not None]
    return {
        "cases": len(outcomes),
        "cases_found": sum(not outcome.missed for outcome in outcomes),
        "culprits": len(culprits),
        "culprits_found_at_line": sum(found.at_line is not None for found in culprits),
        "culprits_found_in_chain_only": sum(
            found.at_line is None and found.in_chain is not None for found in culprits
        ),
        "unguarded": len(unguarded),
        "unguarded_certain": sum(outcome.certain for outcome in unguarded),
        "fixed": len(fixed),
        "false_alarms": sum(outcome.false_alarm for outcome in fixed),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and the promises; 1 when something that must hold does not."""
    options = _options(arguments)
    cases = [case for case in load() if not options.only or case.id in options.only]
    promises = [promise for promise in PROMISES if _chosen(promise, options)]
    if options.only and not cases and not promises:
        print(f"error: no case or promise is called {', '.join(options.only)}", file=sys.stderr)
        return 2
    folder = places.sources()
    with tempfile.TemporaryDirectory(prefix="coldfork-cases-") as scratch:
        shop = Shop(Fetcher(folder), Path(scratch), folder)
        outcomes, troubles = ([], 0) if options.entry else _run_cases(cases, shop)
        broken = troubles + _run_promises(promises, shop)
    figures = totals(outcomes)
    if outcomes:
        _print_totals(figures)
    if options.output:
        _write(Path(options.output), figures, outcomes)
    failed = sum(bool(outcome.failures) for outcome in outcomes)
    return 1 if failed or broken else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench cases", description=__doc__)
    parser.add_argument("--only", action="append", metavar="ID", help="one case or promise (again for more)")
    parser.add_argument(
        "--entry", action="append", choices=("torch", "vllm"), help="only this package's root"
    )
    parser.add_argument("--output", metavar="FILE", help="write the figures as JSON")
    return parser.parse_args(arguments)


def _chosen(promise: Promise, options: argparse.Namespace) -> bool:
    if options.entry:
        return promise.name in {f"entry-{entry}" for entry in options.entry}
    return not options.only or promise.name in options.only


def _run_cases(cases: Sequence[Case], shop: Shop) -> tuple[list[Outcome], int]:
    outcomes: list[Outcome] = []
    troubles = 0
    for case in cases:
        if not case.on_import:
            print(f"--   {case.id}  (not an import-time bug: {case.static} visible to check)")
            continue
        try:
            outcomes.append(run(case, shop))
        except UnavailableError as error:
            print(f"FAIL {case.id}\n       could not be run: {error}")
            troubles += 1
            continue
        show(outcomes[-1])
    return outcomes, troubles


def _run_promises(promises: Sequence[Promise], shop: Shop) -> int:
    broken = 0
    for promise in promises:
        try:
            trouble = promise.broken(shop)
        except UnavailableError as error:
            trouble = [f"could not be run: {error}"]
        print(f"{'FAIL' if trouble else 'ok  '} {promise.name}: {promise.says}")
        for line in trouble:
            print(f"       {line}")
        broken += bool(trouble)
    return broken


def _print_totals(figures: dict[str, object]) -> None:
    print(
        "\nrecall: {cases_found} of {cases} cases; {culprits_found_at_line} of {culprits} culprits "
        "by their line, {culprits_found_in_chain_only} more in a chain\n"
        "certain: {unguarded_certain} of {unguarded} unguarded cases\n"
        "false alarms: {false_alarms} of {fixed} fixed versions".format(**figures)
    )


def _write(path: Path, figures: dict[str, object], outcomes: Sequence[Outcome]) -> None:
    rows = [
        {
            "id": outcome.case.id,
            "failures": outcome.failures,
            "found": [_row(found) for found in outcome.found],
            "fixed_at_place": outcome.fixed_at_place,
            "fixed_totals": outcome.fixed_totals,
        }
        for outcome in outcomes
    ]
    path.write_text(json.dumps({"totals": figures, "cases": rows}, indent=1) + "\n", encoding="utf-8")


def _row(found: judging.Found) -> dict[str, object]:
    culprit = [str(place) for place in found.culprit.places]
    return {"places": culprit, "at_line": found.at_line, "in_chain": found.in_chain}


if __name__ == "__main__":
    sys.exit(main())
