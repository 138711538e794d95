"""The formats of editors and of services that comment on changes, an entry for each finding."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from coldfork.model.causes import Applicability, Edit, Fix
from coldfork.model.effects import Chain
from coldfork.model.findings import Finding, Report, Severity
from coldfork.report.findings import concise
from coldfork.report.findings.hosts import github, gitlab, rdjson
from coldfork.report.shared.options import Options, RuleText

ReportMaker = Callable[..., Report]


def test_concise(
    report_of: ReportMaker, flash_attn: Finding, engine: Finding, switched: Finding, unused_ignore: Finding
) -> None:
    report = report_of(flash_attn, engine, switched, unused_ignore)
    options = Options(locate=lambda path: f"src/{path}", tests=True)
    assert concise.render(report, options) == snapshot("""\
src/vllm/v1/attention/backends/flash_attn.py:175:12: error[device-init-at-import] importing vllm.v1.attention.backends.flash_attn wakes cuda (certain)
src/vllm/engine.py:12:1: error[device-init-at-import] importing vllm.engine can wake cuda (conditional)
src/vllm/util.py:4:31: warning[unused-ignore] this comment ignores device-init-at-import, which finds nothing here (certain)
""")


def test_concise_is_silent_when_nothing_is_found(report_of: ReportMaker) -> None:
    assert concise.render(report_of(), Options()) == ""


def test_github(
    report_of: ReportMaker, flash_attn: Finding, engine: Finding, switched: Finding, unused_ignore: Finding
) -> None:
    text = github.render(report_of(flash_attn, engine, switched, unused_ignore), Options(tests=True))
    assert text.splitlines() == snapshot(
        [
            "::error file=vllm/v1/attention/backends/flash_attn.py,line=175,col=12,title=coldfork%3A device-init-at-import::importing vllm.v1.attention.backends.flash_attn wakes cuda%0AFlashAttentionMetadataBuilder -> get_flash_attn_version -> is_fa_version_supported -> _is_fa2_supported -> torch.cuda.get_device_capability%0Aevery process that imports this module can no longer fork workers that use the GPU%0Acertain on cuda, presuming that vllm.vllm_flash_attn._vllm_fa2_C imports%0Acompute it on first use; read more: coldfork rule device-init-at-import",
            "::error file=vllm/engine.py,line=12,col=1,title=coldfork%3A device-init-at-import::importing vllm.engine can wake cuda%0Avllm.engine -> torch.cuda.init%0Aevery process that imports this module can no longer fork workers that use the GPU%0Aconditional on cuda: only when `current_platform.is_cuda() and has_nixl_ep()`%0Acompute it on first use; read more: coldfork rule device-init-at-import",
            "::warning file=vllm/util.py,line=4,col=31,title=coldfork%3A unused-ignore::this comment ignores device-init-at-import, which finds nothing here%0Adelete the comment; read more: coldfork rule unused-ignore",
        ]
    )


@pytest.mark.parametrize(
    ("severity", "command"),
    [(Severity.ERROR, "::error "), (Severity.WARNING, "::warning "), (Severity.NOTE, "::notice ")],
)
def test_github_has_a_command_for_each_severity(
    report_of: ReportMaker, flash_attn: Finding, severity: Severity, command: str
) -> None:
    assert github.render(report_of(replace(flash_attn, severity=severity)), Options()).startswith(command)


def test_github_escapes_what_would_end_a_command(report_of: ReportMaker, flash_attn: Finding) -> None:
    hostile = replace(
        flash_attn, path="a,b:c%.py", rule="r,x=1::", message="100%::error::\r\n::stop", chain=Chain(())
    )
    (line,) = github.render(report_of(hostile), Options()).splitlines()
    properties, message = line.removeprefix("::error ").split("::", 1)
    assert properties.split(",") == [
        "file=a%2Cb%3Ac%25.py",
        "line=175",
        "col=12",
        "title=coldfork%3A r%2Cx=1%3A%3A",
    ]
    assert message.startswith("100%25::error:: ::stop%0A")


def test_github_shortens_a_long_chain(report_of: ReportMaker, long_chain: Finding) -> None:
    message = github.render(report_of(long_chain), Options()).split("%0A")[1]
    assert message == snapshot(
        "deep -> level_2 -> level_3 -> level_4 -> level_5 -> level_6 -> level_7 -> level_8 -> (18 more) -> level_27 -> level_28 -> level_29 -> cuInit"
    )


def test_gitlab(report_of: ReportMaker, flash_attn: Finding, unused_ignore: Finding) -> None:
    report = report_of(flash_attn, replace(unused_ignore, end_line=6))
    options = Options(locate=lambda path: f"src/{path}", tests=True)
    found, unused = json.loads(gitlab.render(report, options))
    assert found["location"] == {
        "path": "src/vllm/v1/attention/backends/flash_attn.py",
        "lines": {"begin": 175},
    }
    assert found["check_name"] == "coldfork: device-init-at-import"
    assert found["description"].startswith("importing vllm.v1.attention.backends.flash_attn wakes cuda\n")
    assert (found["severity"], unused["severity"]) == ("critical", "major")
    assert unused["location"]["lines"] == {"begin": 4, "end": 6}


def test_gitlab_knows_a_finding_again_on_another_line(report_of: ReportMaker, flash_attn: Finding) -> None:
    before, after = (
        json.loads(gitlab.render(report_of(replace(flash_attn, line=line)), Options())) for line in (175, 180)
    )
    assert before[0]["fingerprint"] == after[0]["fingerprint"] != ""


def test_gitlab_is_an_empty_list_when_nothing_is_found(report_of: ReportMaker) -> None:
    # GitLab takes an empty file for a report that could not be read.
    assert json.loads(gitlab.render(report_of(), Options())) == []


def test_rdjson(report_of: ReportMaker, flash_attn: Finding) -> None:
    rules = {"device-init-at-import": RuleText("It wakes.", url="https://example.org/rule")}
    (found,) = json.loads(rdjson.render(report_of(flash_attn), Options(rules=rules)))["diagnostics"]
    start = {"line": 175, "column": 12}
    assert found["location"] == {
        "path": "vllm/v1/attention/backends/flash_attn.py",
        "range": {"start": start},
    }
    assert found["code"] == {"value": "device-init-at-import", "url": "https://example.org/rule"}
    assert found["severity"] == "ERROR"


def test_rdjson_counts_bytes(report_of: ReportMaker, flash_attn: Finding) -> None:
    finding = replace(flash_attn, text="größe = probe()", column=8, caret=8)
    (found,) = json.loads(rdjson.render(report_of(finding), Options()))["diagnostics"]
    assert found["location"]["range"]["start"]["column"] == len("größe = ".encode()) + 1


def test_rdjson_suggests_a_safe_fix_of_whole_lines(report_of: ReportMaker, flash_attn: Finding) -> None:
    report = report_of(flash_attn)
    cause = report.causes[0].id
    edit = Edit(flash_attn.path, 175, 1, 176, 1, "x = None\n")
    safe = Fix(cause, Applicability.SAFE, "", (edit,))
    for fix, suggested in (
        (safe, True),
        (replace(safe, applicability=Applicability.UNSAFE), False),
        # Each suggestion is accepted by itself.
        (replace(safe, edits=(edit, edit)), False),
        (replace(safe, edits=(replace(edit, path="other.py"),)), False),
        (replace(safe, edits=(replace(edit, column=5),)), False),
    ):
        text = rdjson.render(replace(report, fixes={cause: fix}), Options())
        (found,) = json.loads(text)["diagnostics"]
        assert ("suggestions" in found) is suggested
    (found,) = json.loads(rdjson.render(replace(report, fixes={cause: safe}), Options()))["diagnostics"]
    span = {"start": {"line": 175, "column": 1}, "end": {"line": 176, "column": 1}}
    assert found["suggestions"] == [{"range": span, "text": "x = None\n"}]
