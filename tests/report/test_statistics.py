"""The tables of --statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from inline_snapshot import snapshot

from coldfork.model.effects import Chain
from coldfork.model.findings import Finding, Report, Skipped
from coldfork.report.findings.statistics import render
from coldfork.report.shared.options import Options

ReportMaker = Callable[..., Report]


def test_the_whole_output(
    report_of: ReportMaker, flash_attn: Finding, engine: Finding, long_chain: Finding
) -> None:
    report = report_of(flash_attn, engine, long_chain, skipped=(Skipped("bad.py", "no"),), known=2)
    assert render(report, Options()) == snapshot("""\
rule                       certain  conditional     possible        total
device-init-at-import            1            -            -            1
driver-init-at-import            1            -            -            1
total                            2            -            -            2

package      certain  conditional     possible        total
deep               1            -            -            1
vllm               1            -            -            1
total              2            -            -            2

file                                          certain  conditional     possible        total
deep.py                                             1            -            -            1
vllm/v1/attention/backends/flash_attn.py            1            -            -            1
total                                               2            -            -            2

modules    945 (120 yours)
files      940 read, 13.6 MB, 5 from the cache, 1 skipped
time       1.23 s
held back  2 known to the baseline
""")


def test_without_findings_only_the_cost_is_told(report_of: ReportMaker) -> None:
    assert render(report_of(), Options()) == snapshot("""\
modules    945 (120 yours)
files      940 read, 13.6 MB, 5 from the cache, 0 skipped
time       1.23 s
""")


def test_many_packages_are_summed_up(report_of: ReportMaker, flash_attn: Finding) -> None:
    findings = [
        replace(
            flash_attn,
            id=f"{number}",
            module=f"package{number:02}.core",
            path=f"package{number:02}/core.py",
            chain=Chain(flash_attn.chain.steps[-1:]),
        )
        for number in range(18)
    ]
    lines = render(report_of(*findings), Options()).splitlines()
    assert "and 3 causes in 3 more packages" in lines
    assert "and 3 causes in 3 more files" in lines
    assert sum(line.startswith(("package0", "package1")) for line in lines) == 15 + 15
