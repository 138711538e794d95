"""The format for coding agents: a record a line, nothing empty in it, and commands that can be run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from coldfork.model.causes import Applicability, Edit, Fix, Refusal
from coldfork.model.findings import Finding, Report, Skipped
from coldfork.model.probes import Proof
from coldfork.report.formats import renderer
from coldfork.report.shared.options import Options

ReportMaker = Callable[..., Report]
COMMAND = ("coldfork", "check", "my src", "--profile", "cuda")


def records(report: Report, **options: Any) -> list[dict[str, Any]]:
    """The records of a report."""
    text = renderer("finding", "agent")(report, Options(command=COMMAND, **options))
    assert text.isascii()
    return [json.loads(line) for line in text.splitlines()]


def next_of(record: dict[str, Any]) -> list[str]:
    """The commands of a record, each behind the words that all of them begin with."""
    return [one.replace(shlex.join(COMMAND), "...") for one in record["next"]]


def test_a_cause_is_a_line_and_says_nothing_empty(report_of: ReportMaker, flash_attn: Finding) -> None:
    cause, end = records(report_of(flash_attn))
    del cause["id"]
    assert cause == snapshot(
        {
            "record": "cause",
            "at": "vllm/v1/attention/backends/flash_attn.py:175:12",
            "origin": "vllm/vllm_flash_attn/flash_attn_interface.py:35",
            "rule": "device-init-at-import",
            "severity": "error",
            "fails": True,
            "says": "importing vllm.v1.attention.backends.flash_attn wakes cuda",
            "where": "in the body of class FlashAttentionMetadataBuilder",
            "code": "if get_flash_attn_version() == 3 else AttentionCGSupport.NEVER",
            "verdict": "certain",
            "presumed": ["vllm.vllm_flash_attn._vllm_fa2_C imports"],
            "chain": [
                "FlashAttentionMetadataBuilder vllm/v1/attention/backends/flash_attn.py:175",
                "get_flash_attn_version vllm/attention/utils/fa_utils.py:56",
                "is_fa_version_supported vllm/vllm_flash_attn/flash_attn_interface.py:55",
                "_is_fa2_supported vllm/vllm_flash_attn/flash_attn_interface.py:35",
                "torch.cuda.get_device_capability",
            ],
            "does": "creates a CUDA context",
            "audience": "library",
            "why": "every process that imports this module can no longer fork workers that use the GPU",
            "remedy": "compute it on first use",
            "next": ["coldfork rule device-init-at-import"],
        }
    )
    assert end == snapshot(
        {
            "record": "end",
            "causes": 1,
            "failing": 1,
            "clean": False,
            "profiles": ["cuda"],
            "modules": 945,
            "next": [
                "coldfork check 'my src' --profile cuda --diff",
                "coldfork check 'my src' --profile cuda --fix --prove --format agent",
            ],
        }
    )


def test_what_is_cut_comes_with_the_command_that_shows_it(
    report_of: ReportMaker,
    flash_attn: Finding,
    switched: Finding,
    long_chain: Finding,
    unused_ignore: Finding,
) -> None:
    said = records(report_of(long_chain, flash_attn, switched, unused_ignore), limit=1)
    kinds = [record["record"] for record in said]
    assert kinds == ["cause", "cut", "cut", "end"]
    assert [record["says"] for record in said[1:3]] == ["2 more of 3 causes", "1 cause in tests is folded"]
    assert [next_of(record) for record in said[1:3]] == [
        ["... --limit 0 --format agent"],
        ["... --tests --format agent"],
    ]
    steps = said[0]["chain"]
    assert len(steps) == 13
    assert steps[8] == f"(18 steps left out: {shlex.join(COMMAND)} --format json)"
    everything = records(report_of(long_chain, flash_attn, switched, unused_ignore), tests=True)
    assert [record["record"] for record in everything] == ["cause"] * 4 + ["end"]


def test_green_is_said_only_where_all_was_read(report_of: ReportMaker) -> None:
    assert records(report_of())[-1]["clean"] is True
    unread, end = records(report_of(skipped=(Skipped("a.py", "permission\ndenied"),)))
    assert unread == {"record": "not-read", "at": "a.py", "says": "permission denied"}
    assert end["clean"] is False


@pytest.mark.parametrize(
    ("fix", "said", "commands"),
    [
        (
            Fix("", Applicability.UNSAFE, "nobody reads it", ()),
            "--fix=unsafe writes one; it may change what the program does: nobody reads it",
            ["... --fix=unsafe --prove --format agent", "... --format agent"],
        ),
        (Refusal("", "line 3 reads it"), "none, because line 3 reads it", ["... --format agent"]),
        (
            Fix("", Applicability.SHOWN, "by you", (Edit("a.py", 3, 1, 3, 9, "x = f()\n"),)),
            "by hand, from what is shown: by you",
            ["... --format agent"],
        ),
    ],
)
def test_after_a_fix_it_says_what_is_left_and_how_to_go_on(
    report_of: ReportMaker, flash_attn: Finding, fix: Fix | Refusal, said: str, commands: list[str]
) -> None:
    report = report_of(flash_attn)
    (cause,) = report.causes
    proof = Proof("virtual:h100", 1, 1, ())
    first, proven, end = records(replace(report, fixes={cause.id: replace(fix, cause=cause.id)}, proof=proof))
    assert first["fix"] == said
    assert ("edits" in first) == (said.startswith("by hand"))
    assert proven["refuted"] is False
    assert next_of(end) == commands
    assert next_of(records(report)[-1]) == ["... --diff", "... --fix --prove --format agent"]
