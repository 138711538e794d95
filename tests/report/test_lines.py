"""The formats with one line per finding: concise and GitHub's workflow commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from coldfork.model.effects import Chain
from coldfork.model.findings import Finding, Report, Severity
from coldfork.report.findings import concise, github
from coldfork.report.shared.options import Options

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
