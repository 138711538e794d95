"""Check on a machine with a GPU what coldfork claims about one: `python hardware/validate.py [--output FILE]`

Needs Python 3.11 and the driver; uses torch and a C compiler if they are there. Prints a JSON report on
stdout and a summary on stderr. Exit status: 0 every claim that could be tried holds (or there is no device),
1 some do not, 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

# Runs from a bare checkout, installed or not.
sys.path[:0] = [
    str(Path(__file__).resolve().parent.parent),
    str(Path(__file__).resolve().parent.parent / "src"),
]

from coldfork import __version__
from hardware import driver, graph_claims, lease_claims, start_claims, torch_claims, virtual_claims
from hardware.children import Bench
from hardware.claims import Section

SCHEMA_VERSION = 1
SECTIONS: dict[str, Callable[[Bench], Section]] = {
    "codes": driver.codes,
    "injection": driver.injection,
    "probes": driver.probes,
    "torch": torch_claims.torch,
    "virtual": virtual_claims.virtual,
    "graphs": graph_claims.graphs,
    "start": start_claims.start,
    "lease": lease_claims.lease,
}


def device(bench: Bench) -> dict[str, Any] | None:
    """Describe the machine's device, or return None when its driver finds none."""
    answers = bench.run("device_answers", bench.driver, bench.management, "-")
    if "untestable" in answers or answers["driver"].get("cuInit") != 0 or not answers["driver"].get("count"):
        return None
    return {
        "name": answers["driver"]["name"],
        "count": answers["driver"]["count"],
        "driver": answers["driver"]["driver version"],
        "torch": answers["torch"].get("version"),
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def report(bench: Bench, wanted: Sequence[str], say: Callable[[str], None]) -> dict[str, Any]:
    """Run the sections that are wanted."""
    found = device(bench)
    head = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "coldfork", "version": __version__},
        "taken": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "device": found,
    }
    if found is None:
        say("no device: the driver is not there, or it finds none")
        return {**head, "sections": []}
    sections = []
    for name in wanted:
        section = SECTIONS[name](bench)
        sections.append(asdict(section))
        _tell(section, say)
    return {**head, "sections": sections}


def _tell(section: Section, say: Callable[[str], None]) -> None:
    held = sum(finding.holds is True for finding in section.findings)
    failed = [finding for finding in section.findings if finding.holds is False]
    untried = [finding for finding in section.findings if finding.holds is None]
    say(f"{section.name}: {held} hold, {len(failed)} do not, {len(untried)} could not be tried")
    for finding in failed:
        say(f"  does not hold: {finding.claim} (expected {finding.expected!r}, found {finding.found!r})")
    for finding in untried:
        say(f"  not tried: {finding.claim}: {finding.note}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(
        prog="hardware/validate.py", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("section", nargs="*", help=f"only these of {', '.join(SECTIONS)}")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report here instead of stdout")
    parser.add_argument("--driver", default="libcuda.so.1", metavar="PATH", help="the driver library to ask")
    parser.add_argument("--nvml", default="libnvidia-ml.so.1", metavar="PATH", help="the NVML library to ask")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="for each program")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.section if name not in SECTIONS]
    if unknown:
        parser.error(f"there is no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    bench = Bench(options.driver, options.nvml, timeout=options.timeout)
    made = report(bench, options.section or list(SECTIONS), lambda line: print(line, file=sys.stderr))
    text = json.dumps(made, indent=1) + "\n"
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text, encoding="utf-8")
    failed = any(f["holds"] is False for section in made["sections"] for f in section["findings"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
