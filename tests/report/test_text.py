"""The output for people, whole."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from coldfork.model.effects import Chain, Step, StepKind, Verdict
from coldfork.model.findings import Finding, Report, Skipped
from coldfork.model.observations import Statistics
from coldfork.report.findings.text import render
from coldfork.report.shared.options import Options

ReportMaker = Callable[..., Report]


def test_a_suggested_command_holds_no_raw_control_characters(
    report_of: ReportMaker, flash_attn: Finding
) -> None:
    text = render(report_of(flash_attn), Options(command=("coldfork", "check", "odd\x1b[31m.py")))
    assert "\x1b" not in text
    assert "\nnext: coldfork check 'odd\\x1b[31m.py' --fix  (mends what it can)\n" in text


def test_a_finding_has_the_shape_of_the_style_guide(report_of: ReportMaker, flash_attn: Finding) -> None:
    assert render(report_of(flash_attn), Options()) == snapshot("""\
error[device-init-at-import] importing vllm.v1.attention.backends.flash_attn wakes cuda
  --> vllm/v1/attention/backends/flash_attn.py:175  in the body of class FlashAttentionMetadataBuilder
      if get_flash_attn_version() == 3 else AttentionCGSupport.NEVER
   1. get_flash_attn_version        vllm/attention/utils/fa_utils.py:56
   2. is_fa_version_supported       vllm/vllm_flash_attn/flash_attn_interface.py:55
   3. _is_fa2_supported             vllm/vllm_flash_attn/flash_attn_interface.py:35
   4. torch.cuda.get_device_capability   creates a CUDA context
   = every process that imports this module can no longer fork workers that use the GPU
   = certain on cuda, presuming that vllm.vllm_flash_attn._vllm_fa2_C imports
   = help: compute it on first use; read more: coldfork rule device-init-at-import

1 cause: 1 certain, 1 failing the check; 945 modules (120 yours) in 1.23 s
next: coldfork check --fix  (mends what it can)
""")


def test_a_shared_end_is_shown_once_and_pointed_at(
    report_of: ReportMaker, flash_attn: Finding, engine: Finding
) -> None:
    report = report_of(replace(flash_attn, accelerator="rocm"), engine)
    assert render(report, Options()) == snapshot("""\
error[device-init-at-import] importing vllm.v1.attention.backends.flash_attn wakes cuda
  --> vllm/v1/attention/backends/flash_attn.py:175  in the body of class FlashAttentionMetadataBuilder
      if get_flash_attn_version() == 3 else AttentionCGSupport.NEVER
   1. get_flash_attn_version        vllm/attention/utils/fa_utils.py:56
   2. is_fa_version_supported       vllm/vllm_flash_attn/flash_attn_interface.py:55
   3. _is_fa2_supported             vllm/vllm_flash_attn/flash_attn_interface.py:35
   4. torch.cuda.get_device_capability   creates a ROCm context
   = every process that imports this module can no longer fork workers that use the GPU
   = certain on cuda, presuming that vllm.vllm_flash_attn._vllm_fa2_C imports
   = help: compute it on first use; read more: coldfork rule device-init-at-import

error[waking-import] importing vllm.engine imports vllm.v1.attention.backends.flash_attn, which wakes cuda
  --> vllm/vllm_flash_attn/flash_attn_interface.py:35  in _is_fa2_supported
      capability = get_device_capability()
   1. vllm.engine                            vllm/engine.py:12
   2. vllm.v1.attention.backends.flash_attn  vllm/v1/attention/backends/flash_attn.py:175
   3. get_flash_attn_version                 vllm/attention/utils/fa_utils.py:56
      … 2 steps as above, from vllm/v1/attention/backends/flash_attn.py:175
   6. torch.cuda.get_device_capability       creates a CUDA context
   = conditional on cuda: only when `current_platform.is_cuda() and has_nixl_ep()`
   = help: mend vllm/vllm_flash_attn/flash_attn_interface.py:35: make it happen on first use, not on import;
     read more: coldfork rule waking-import

2 causes: 1 certain, 1 conditional, 2 failing the check; 945 modules (120 yours) in 1.23 s
next: coldfork check --fix  (mends what it can)
""")


def test_a_long_chain_is_shortened_in_the_middle(report_of: ReportMaker, long_chain: Finding) -> None:
    assert render(report_of(long_chain), Options()) == snapshot("""\
error[driver-init-at-import] importing deep initialises the CUDA driver
  --> deep.py:1
      level_2()
   1. level_2                       deep.py:2
   2. level_3                       deep.py:3
   3. level_4                       deep.py:4
   4. level_5                       deep.py:5
   5. level_6                       deep.py:6
   6. level_7                       deep.py:7
   7. level_8                       deep.py:8
      … 18 steps left out; --format json has them all
  26. level_27                      deep.py:27
  27. level_28                      deep.py:28
  28. level_29                      deep.py:29
  29. cuInit                        initialises the CUDA driver
   = every process that imports this module can no longer fork workers that use the GPU
   = certain on cuda
   = help: compute it on first use; read more: coldfork rule driver-init-at-import

1 cause: 1 certain, 1 failing the check; 945 modules (120 yours) in 1.23 s
next: coldfork check --fix  (mends what it can)
""")


def test_nothing_points_at_steps_that_were_left_out(report_of: ReportMaker, long_chain: Finding) -> None:
    importer = Step(StepKind.MODULE, "top", "top.py", 1)
    above = replace(long_chain, path="top.py", chain=Chain((importer, *long_chain.chain.steps)))
    second = render(report_of(long_chain, above), Options()).split("--> top.py:1")[1]
    assert "as above" not in second
    assert "steps left out; --format json has them all" in second


def test_findings_about_no_device_claim_nothing_about_one(
    report_of: ReportMaker, unused_ignore: Finding
) -> None:
    assert render(report_of(unused_ignore, failing=0), Options(tests=True)) == snapshot("""\
warning[unused-ignore] this comment ignores device-init-at-import, which finds nothing here
  --> vllm/util.py:4  test code
      import torch  # coldfork: ignore[device-init-at-import] old
   = help: delete the comment; read more: coldfork rule unused-ignore

1 cause: 1 certain, none failing the check; 945 modules (120 yours) in 1.23 s
""")


def test_what_the_baseline_and_comments_hold_back_is_counted(
    report_of: ReportMaker, flash_attn: Finding
) -> None:
    text = render(report_of(flash_attn, known=3, ignored=2, gone=1), Options(width=200))
    summary, next_command = text.splitlines()[-2:]
    assert summary.split("; ") == snapshot(
        [
            "1 cause: 1 certain, 1 failing the check",
            "945 modules (120 yours) in 1.23 s",
            "3 known to the baseline",
            "2 ignored by comment",
            "1 in the baseline and gone",
        ]
    )
    assert next_command == snapshot(
        "next: coldfork baseline prune  (drops from the baseline what is no longer found)"
    )


def test_a_clean_result_says_what_was_looked_at(report_of: ReportMaker) -> None:
    assert render(report_of(), Options()) == snapshot(
        "no finding on cuda: looked at 945 modules (120 yours) in 1.23 s\n"
    )
    assert render(report_of(known=7), Options()) == snapshot(
        "no new finding on cuda: looked at 945 modules (120 yours) in 1.23 s; 7 known to the baseline\n"
    )


def test_nothing_to_check_is_not_called_clean() -> None:
    nothing = Report("cuda", (), (), Statistics(0, 0, 0, 0.01))
    assert render(nothing, Options()) == snapshot("nothing was checked: no Python module was found\n")


def test_skipped_files_are_summarised_and_stay_unjudged(report_of: ReportMaker) -> None:
    skipped = tuple(Skipped(f"pkg/bad{number}.py", "invalid syntax\nat line 3") for number in range(7))
    assert render(report_of(skipped=skipped), Options()) == snapshot("""\
7 files could not be read, so it is unknown what importing them does:
  pkg/bad0.py: invalid syntax at line 3
  pkg/bad1.py: invalid syntax at line 3
  pkg/bad2.py: invalid syntax at line 3
  pkg/bad3.py: invalid syntax at line 3
  pkg/bad4.py: invalid syntax at line 3
  and 2 more; --format json lists them all

no finding on cuda: looked at 945 modules (120 yours) in 1.23 s; 7 not read
""")


def test_a_skipped_file_with_a_finding_is_told_once(report_of: ReportMaker, unused_ignore: Finding) -> None:
    unreadable = replace(unused_ignore, rule="unreadable-source", chain=Chain(()))
    skipped = (Skipped(unreadable.path, "NUL byte"), Skipped("torch/bad.py", "NUL byte"))
    text = render(report_of(unreadable, skipped=skipped), Options(tests=True))
    assert text.count(unreadable.path) == 1
    assert "1 file could not be read, so it is unknown what importing it does:\n  torch/bad.py" in text
    assert "; 2 not read\n" in text


_REST = " (--format json lists them)"
_DYNAMIC = "possible on cuda: only through a dynamic call that could not be narrowed down"


@pytest.mark.parametrize(
    ("verdict", "condition", "presumed", "sentence"),
    [
        (Verdict.CERTAIN, None, (), "certain on cuda"),
        (
            Verdict.CERTAIN,
            None,
            ("a imports", "b imports"),
            "certain on cuda, presuming that a imports and that b imports",
        ),
        (
            Verdict.CONDITIONAL,
            "has_gpu()",
            ("a imports",),
            "conditional on cuda: only when `has_gpu()`, presuming that a imports",
        ),
        (Verdict.CONDITIONAL, None, (), "conditional on cuda"),
        (Verdict.POSSIBLE, None, (), _DYNAMIC),
        (Verdict.POSSIBLE, "flag", (), f"{_DYNAMIC}, and only when `flag`"),
        (
            Verdict.CERTAIN,
            None,
            tuple(f"m{number} imports" for number in range(9)),
            f"certain on cuda, presuming that m0 imports, m1 imports, m2 imports and 6 more{_REST}",
        ),
    ],
)
def test_the_verdict_says_on_what_it_hangs(
    report_of: ReportMaker,
    flash_attn: Finding,
    verdict: Verdict,
    condition: str | None,
    presumed: tuple[str, ...],
    sentence: str,
) -> None:
    finding = replace(flash_attn, verdict=verdict, condition=condition, presumed=presumed)
    assert f"   = {sentence}\n" in render(report_of(finding), Options(width=200))


def test_source_lines_fit_the_terminal(report_of: ReportMaker, flash_attn: Finding) -> None:
    wide = replace(flash_attn, text="x = " + "漢字" * 100)
    source = render(report_of(wide), Options(width=60)).splitlines()[4]
    assert source == snapshot("      x = 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字…")
    ascii_source = render(report_of(wide), Options(width=60, encoding="ascii")).splitlines()[4]
    assert len(ascii_source) <= 60
    assert ascii_source.endswith("...")


def test_control_characters_never_reach_the_terminal(report_of: ReportMaker, flash_attn: Finding) -> None:
    hostile = replace(
        flash_attn,
        path="a\x1b[2Jb\n.py",
        text='s = "\x1b]0;title\x07"\t# \u202egnp.exe\u200b',
        message="importing x\r\nwakes \x9b31mcuda",
        chain=Chain((Step(StepKind.MODULE, "m"), Step(StepKind.SINK, "sink\x08\x08", "\udcff.py", 3))),
    )
    report = report_of(hostile, skipped=(Skipped("\x1b[0m.py", "NUL \x00"),))
    assert render(report, Options()) == snapshot("""\
error[device-init-at-import] importing x wakes \\x9b31mcuda
  --> a\\x1b[2Jb\\n.py:175  in the body of class FlashAttentionMetadataBuilder
      s = "\\x1b]0;title\\x07"    # \\u202egnp.exe\\u200b
   1. sink\\x08\\x08                  \\udcff.py:3   creates a CUDA context
   = every process that imports this module can no longer fork workers that use the GPU
   = certain on cuda, presuming that vllm.vllm_flash_attn._vllm_fa2_C imports
   = help: compute it on first use; read more: coldfork rule device-init-at-import

1 file could not be read, so it is unknown what importing it does:
  \\x1b[0m.py: NUL \\x00

1 cause: 1 certain, 1 failing the check; 945 modules (120 yours) in 1.23 s; 1 not read
next: coldfork check --fix  (mends what it can)
""")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "utf-8", "utf-16", "no-such-one", None])
def test_every_stream_can_say_it(
    report_of: ReportMaker, flash_attn: Finding, engine: Finding, encoding: str | None
) -> None:
    findings = (replace(flash_attn, text="größe = '漢字 😀'"), engine)
    text = render(report_of(*findings), Options(encoding=encoding, width=40))
    text.encode("ascii" if encoding == "no-such-one" else encoding or "utf-8")


def test_colour_changes_nothing_but_colour(
    report_of: ReportMaker, flash_attn: Finding, engine: Finding, unused_ignore: Finding
) -> None:
    report = report_of(flash_attn, engine, unused_ignore, skipped=(Skipped("bad.py", "no"),))
    coloured = render(report, Options(colour=True))
    assert "\x1b[1;31merror[device-init-at-import]\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(report, Options())


def test_paths_are_shown_from_where_the_user_stands(report_of: ReportMaker, flash_attn: Finding) -> None:
    text = render(report_of(flash_attn), Options(locate=lambda path: f"src/{path}"))
    assert "--> src/vllm/v1/attention/backends/flash_attn.py:175" in text
    assert "src/vllm/attention/utils/fa_utils.py:56" in text


def test_test_code_and_confirmation_are_said(report_of: ReportMaker, flash_attn: Finding) -> None:
    finding = replace(flash_attn, test=True, confirmed="woken")
    text = render(report_of(finding), Options(tests=True, width=200))
    assert "in the body of class FlashAttentionMetadataBuilder, test code\n" in text
    assert "   = confirmed: a fresh interpreter that imported the module woke the device\n" in text


def test_what_confirming_showed_is_said_and_counted(
    report_of: ReportMaker, flash_attn: Finding, switched: Finding
) -> None:
    woken = replace(flash_attn, confirmed="woken", confirmation="it woke, on virtual:h100")
    cold = replace(woken, id="c01d", chain=Chain(()), line=9, confirmed="cold")
    untestable = replace(switched, confirmed="not-testable", confirmation="the import failed")
    text = render(report_of(woken, cold, untestable), Options(width=200))
    assert "   = confirmed: it woke, on virtual:h100\n" in text
    assert "   = not confirmed: it woke, on virtual:h100\n" in text
    assert "   = not testable: the import failed\n" in text
    assert "3 failing the check; 1 confirmed, 1 not confirmed, 1 not testable; 945 modules" in text


def test_rich_is_loaded_only_for_colour() -> None:
    program = (
        "import sys; from coldfork.report.findings import text; from coldfork.report.shared.options import Options;"
        "from coldfork.model.observations import Statistics; from coldfork.model.findings import Report;"
        "report = Report('cuda', (), (), Statistics(1, 1, 0, 0.0));"
        "text.render(report, Options()); print('rich' in sys.modules);"
        "text.render(report, Options(colour=True)); print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
