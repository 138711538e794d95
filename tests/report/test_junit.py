"""JUnit XML for continuous integration servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree as ET

from inline_snapshot import snapshot

from coldfork.model.effects import Verdict
from coldfork.model.findings import Finding, Report, Skipped
from coldfork.report.findings.hosts.junit import render
from coldfork.report.shared.options import Options, RuleText

ReportMaker = Callable[..., Report]
_RULES = {"device-init-at-import": RuleText("A."), "eager-reexport": RuleText("B.")}


def test_the_whole_output(report_of: ReportMaker, flash_attn: Finding, switched: Finding) -> None:
    report = report_of(flash_attn, switched, skipped=(Skipped("bad.py", "NUL byte"),))
    assert render(report, Options(rules=_RULES, fail_on=Verdict.CERTAIN)) == snapshot("""\
<?xml version="1.0" encoding="utf-8"?>
<testsuites name="coldfork" tests="4" failures="1" errors="0" skipped="2" time="1.234">
  <testsuite name="coldfork check on cuda" tests="4" failures="1" errors="0" skipped="2" time="1.234">
    <testcase classname="vllm.v1.attention.backends.flash_attn" name="device-init-at-import at vllm/v1/attention/backends/flash_attn.py:175" file="vllm/v1/attention/backends/flash_attn.py" time="0">
      <failure message="importing vllm.v1.attention.backends.flash_attn wakes cuda" type="device-init-at-import">vllm/v1/attention/backends/flash_attn.py:175
-&gt; get_flash_attn_version vllm/attention/utils/fa_utils.py:56
-&gt; is_fa_version_supported vllm/vllm_flash_attn/flash_attn_interface.py:55
-&gt; _is_fa2_supported vllm/vllm_flash_attn/flash_attn_interface.py:35
-&gt; torch.cuda.get_device_capability
every process that imports this module can no longer fork workers that use the GPU
certain on cuda, presuming that vllm.vllm_flash_attn._vllm_fa2_C imports
compute it on first use; read more: coldfork rule device-init-at-import</failure>
    </testcase>
    <testcase classname="vllm.engine" name="device-init-at-import at vllm/engine.py:12" file="vllm/engine.py" time="0">
      <skipped message="importing vllm.engine can wake cuda (conditional)" />
      <system-out>vllm/engine.py:12
-&gt; torch.cuda.init
every process that imports this module can no longer fork workers that use the GPU
conditional on cuda: only when `current_platform.is_cuda() and has_nixl_ep()`
compute it on first use; read more: coldfork rule device-init-at-import</system-out>
    </testcase>
    <testcase classname="coldfork" name="eager-reexport" time="0" />
    <testcase classname="coldfork.files" name="bad.py" time="0">
      <skipped message="not analysed: NUL byte" />
    </testcase>
  </testsuite>
</testsuites>
""")


def test_a_clean_check_passes_one_case_for_each_rule(report_of: ReportMaker) -> None:
    (suite,) = ET.fromstring(render(report_of(), Options(rules=_RULES)))
    assert [case.get("name") for case in suite] == ["device-init-at-import", "eager-reexport"]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "0", "0")


def test_forbidden_characters_are_written_as_escapes(report_of: ReportMaker, flash_attn: Finding) -> None:
    hostile = replace(flash_attn, message='a\x00b\x1b\ufffe<&>"]]>\udcff', consequence="\x0b\x85 ü 😀")
    text = render(report_of(hostile), Options())
    assert text.isascii()
    failure = ET.fromstring(text).find(".//failure")
    assert failure is not None
    assert failure.get("message") == 'a\\x00b\\x1b\\ufffe<&>"]]>\\udcff'
    assert "ü 😀" in (failure.text or "")
