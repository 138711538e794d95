"""Every renderer takes every report: odd Unicode, control characters, chains of one step or of none."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from coldfork.model.causes import Applicability, Edit, Fix, Refusal
from coldfork.model.effects import Chain, EffectKind, Position, StartedProgram, Step, StepKind, Verdict
from coldfork.model.findings import Finding, Report, Severity, Skipped, Way
from coldfork.model.observations import Observation, Statistics
from coldfork.model.probes import (
    CommandEnd,
    ModuleProbe,
    ModuleProof,
    NameChange,
    ProbeStatus,
    Proof,
    TestsProof,
)
from coldfork.report.findings import concise, json_format, markdown, statistics, text
from coldfork.report.findings.hosts import github, gitlab, junit, rdjson, sarif
from coldfork.report.shared.options import Options, RuleText
from coldfork.rules.causes.judging import judge

pytestmark = pytest.mark.once

_HERE = Path(__file__).parent
_SCHEMAS = _HERE.parents[1] / "src" / "coldfork" / "report" / "schemas"
_ENCODINGS = ("utf-8", "ascii", "cp1252", "utf-16", "shift_jis", "koi8-r")


def _validator(path: Path) -> Draft202012Validator:
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


CHECK = _validator(_SCHEMAS / "check.schema.json")
SARIF = _validator(_HERE / "sarif_subset.schema.json")

# Lone surrogates, escapes, direction overrides and newlines of every kind come more often than by chance.
_NASTY = (
    "\x00\x07\x08\t\n\r\x0b\x0c\x1b\x1c\x7f\x85\x9b\xa0\xad\u200b\u202e\u2028\u2066\ufeff\ud800\udcff\uffff"
)
_characters = st.one_of(st.sampled_from(_NASTY + "%:,<&>\"']\\/ é漢😀"), st.characters())
_words = st.text(_characters, max_size=12)
_lines = st.integers(0, 3000)
_counts = st.integers(0, 9)

_steps = st.builds(
    Step,
    kind=st.sampled_from(StepKind),
    symbol=_words,
    path=st.none() | _words,
    line=st.none() | _lines,
    text=_words,
)
_ways = st.builds(
    Way,
    role=st.sampled_from(["program", "before", "child"]),
    words=_words,
    chain=st.builds(Chain, st.lists(_steps, max_size=5).map(tuple)),
    effect=st.none() | st.sampled_from([kind.value for kind in EffectKind]),
    accelerator=st.none() | st.sampled_from(["cuda", ""]),
)
_findings = st.builds(
    Finding,
    id=_words,
    rule=_words,
    severity=st.sampled_from(Severity),
    verdict=st.sampled_from(Verdict),
    condition=st.none() | _words,
    presumed=st.lists(_words, max_size=5).map(tuple),
    accelerator=st.none() | st.sampled_from(["cuda", "rocm", "polars", ""]),
    effect=st.none() | st.sampled_from([kind.value for kind in EffectKind]),
    module=_words,
    path=_words,
    line=_lines,
    column=_lines,
    position=st.none() | st.sampled_from([position.value for position in Position]),
    test=st.booleans(),
    message=_words,
    consequence=_words,
    remedy=_words,
    chain=st.builds(Chain, st.lists(_steps, max_size=20).map(tuple)),
    text=_words,
    where=_words,
    end_line=st.none() | _lines,
    confirmed=st.none() | st.sampled_from(["woken", "cold", "not-testable"]),
    confirmation=_words,
    ways=st.lists(_ways, max_size=3).map(tuple),
    program=st.none() | st.builds(StartedProgram, _words, _words, _words),
)
_edits = st.builds(Edit, _words, *[st.integers(1, 3000)] * 4, _words)
_fixes = st.one_of(
    st.builds(Refusal, st.just(""), _words),
    st.builds(
        Fix,
        st.just(""),
        st.sampled_from(Applicability),
        _words,
        st.lists(_edits, min_size=1, max_size=3).map(tuple),
    ),
)
_probes = st.builds(
    ModuleProbe,
    _words,
    st.sampled_from(ProbeStatus),
    st.none() | _words,
    values=st.none() | st.just({"a": ("1", True)}),
)
_changes = st.builds(NameChange, _words, st.none() | _words, st.none() | _words, st.booleans())
_proofs = st.builds(
    Proof,
    _words,
    _counts,
    _counts,
    st.lists(
        st.builds(
            ModuleProof,
            *(_words, _words, _words, st.none() | _probes, st.none() | _probes, _counts, _counts),
            st.lists(_changes, max_size=3).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
    st.none() | st.builds(TestsProof, _words, *[st.builds(CommandEnd, st.none() | _counts, _words)] * 2),
    st.booleans(),
)


def _with_causes(report: Report, fixes: list[Fix | Refusal], proof: Proof | None) -> Report:
    """The report as the command line makes it: ids tell findings apart, and each knows its cause."""
    findings = tuple(replace(one, id=f"{one.id}{index}") for index, one in enumerate(report.findings))
    judged = judge(Observation(report.profile, (), (), (), report.statistics), findings)
    of = {cause.id: replace(fix, cause=cause.id) for cause, fix in zip(judged.causes, fixes, strict=False)}
    return replace(report, findings=judged.findings, causes=judged.causes, fixes=of, proof=proof)


_plain_reports = st.builds(
    Report,
    profile=_words,
    findings=st.lists(_findings, max_size=4).map(tuple),
    skipped=st.lists(st.builds(Skipped, path=_words, reason=_words), max_size=7).map(tuple),
    statistics=st.builds(
        Statistics,
        modules=_counts,
        read=_counts,
        cached=_counts,
        seconds=st.floats(0, 1e6),
        own_modules=_counts,
        bytes_read=_counts,
    ),
    known=_counts,
    gone=_counts,
    ignored=_counts,
    failing=_counts,
)
_reports = st.builds(_with_causes, _plain_reports, st.lists(_fixes, max_size=4), st.none() | _proofs)
_options = st.builds(
    Options,
    version=st.sampled_from(["", "0.1.0"]),
    width=st.none() | st.integers(1, 200),
    encoding=st.sampled_from(_ENCODINGS),
    rules=st.dictionaries(_words, st.builds(RuleText, summary=_words, markdown=_words), max_size=3),
    fail_on=st.sampled_from(Verdict),
    tests=st.booleans(),
    all_ways=st.booleans(),
    command=st.lists(_words, max_size=2).map(lambda words: ("coldfork", "check", *words)),
)


def _first_findings(report: Report, options: Options) -> list[Finding]:
    """Return the finding that stands for each cause that is shown."""
    by_id = {finding.id: finding for finding in report.findings}
    wide = ("library", "script")
    return [by_id[one.findings[0]] for one in report.causes if options.tests or one.audience in wide]


def _utf8(value: str | None) -> str | None:
    return None if value is None else value.encode("utf-8", "backslashreplace").decode("utf-8")


def assert_sayable(output: str, encoding: str) -> None:
    """Nothing but visible characters, spaces and newlines, all of which the encoding has."""
    raw = {character for character in output if character != "\n" and not character.isprintable()}
    assert not raw, sorted(unicodedata.name(character, repr(character)) for character in raw)
    assert output.encode(encoding).decode(encoding) == output


def json_is_valid_and_says_what_the_report_says(report: Report, options: Options) -> None:
    written = json.loads(json_format.render(report, options))
    CHECK.validate(written)
    assert written["profile"] == _utf8(report.profile)
    assert len(written["skipped"]) == len(report.skipped)
    assert len(written["findings"]) == len(report.findings)
    for found, finding in zip(written["findings"], report.findings, strict=True):
        for name in set(found) - {"chain", "ways", "program", "presumed", "file", "cell", "fix"}:
            value = getattr(finding, name)
            if name == "confirmation":
                value = value or None
            assert found[name] == (_utf8(value) if isinstance(value, str) else value), name
        assert found["presumed"] == [_utf8(presumption) for presumption in finding.presumed]
        assert _read(found["chain"]) == _written(finding.chain)
        assert (found["program"] is None) == (finding.program is None)
        if finding.program is not None:
            assert found["program"]["module"] == _utf8(finding.program.module)
            assert found["program"]["function"] == (_utf8(finding.program.function) or None)
        for said, way in zip(found["ways"], finding.ways, strict=True):
            assert (said["role"], said["effect"]) == (way.role, way.effect)
            assert _read(said["chain"]) == _written(way.chain)


def _read(chain: list[dict[str, Any]]) -> list[Step]:
    steps = [{name: value for name, value in step.items() if name in Step.__slots__} for step in chain]
    return [Step(**{**step, "kind": StepKind(step["kind"])}) for step in steps]


def _written(chain: Chain) -> list[Step]:
    return [
        Step(step.kind, _utf8(step.symbol) or "", _utf8(step.path), step.line, _utf8(step.text) or "")
        for step in chain.steps
    ]


def sarif_is_valid(report: Report, options: Options) -> None:
    output = sarif.render(report, options)
    assert output.isascii()
    written = json.loads(output)
    SARIF.validate(written)
    (run,) = written["runs"]
    assert not re.search("[\ud800-\udfff]", json.dumps(run, ensure_ascii=False))
    rules = run["tool"]["driver"]["rules"]
    for result, finding in zip(run["results"], report.findings, strict=True):
        assert result["ruleId"] == rules[result["ruleIndex"]]["id"] == _utf8(finding.rule)
        flows: list[Any] = result.get("codeFlows", [])
        steps = flows[0]["threadFlows"][0]["locations"] if flows else []
        assert len(steps) == len(finding.chain.steps)
    fixed = [cause for cause in report.causes if isinstance(report.fixes.get(cause.id), Fix)]
    assert sum("fixes" in result for result in run["results"]) == len(fixed)


def junit_is_xml_whose_counts_hold(report: Report, options: Options) -> None:
    output = junit.render(report, options)
    assert output.isascii()
    (suite,) = ET.fromstring(output)
    failing = sum(options.fails(cause) for cause in report.causes)
    assert suite.get("failures") == str(failing) == str(len(suite.findall("testcase/failure")))
    assert suite.get("tests") == str(len(suite.findall("testcase")))
    assert suite.get("skipped") == str(len(report.causes) - failing + len(report.skipped))


def concise_has_one_line_for_each_cause(report: Report, options: Options) -> None:
    output = concise.render(report, options)
    assert_sayable(output, options.encoding or "utf-8")
    firsts = _first_findings(report, options)
    assert len(output.splitlines()) == output.count("\n") == len(firsts)
    for line, finding in zip(output.splitlines(), firsts, strict=True):
        assert f":{finding.line}:{finding.column + 1}: {finding.severity.value}[" in line
        assert line.endswith(")")
        surety = f"({finding.verdict.value}" + (f", {finding.confirmed}" if finding.confirmed else "")
        assert surety in line


def github_writes_commands_and_nothing_else(report: Report, options: Options) -> None:
    output = github.render(report, options)
    assert_sayable(output, options.encoding or "utf-8")
    assert len(output.splitlines()) == len(_first_findings(report, options))
    for line in output.splitlines():
        match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert match, line
        assert match[2].startswith("file=")
        assert re.fullmatch(r"([^%]|%25|%0A)*", match[3])
        assert re.fullmatch(r"([^%]|%25|%3A|%2C)*", match[2])


def gitlab_has_one_issue_for_each_annotation(report: Report, options: Options) -> None:
    output = gitlab.render(report, options)
    assert output.isascii()
    firsts = _first_findings(report, options)
    for issue, finding in zip(json.loads(output), firsts, strict=True):
        # What GitLab asks for of each.
        assert issue.keys() >= {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["lines"]["begin"] == max(1, finding.line)
        assert issue["description"]


def rdjson_has_one_diagnostic_for_each_annotation(report: Report, options: Options) -> None:
    output = rdjson.render(report, options)
    assert output.isascii()
    result = json.loads(output)
    assert result["source"]["name"] == "coldfork"
    for diagnostic, finding in zip(result["diagnostics"], _first_findings(report, options), strict=True):
        assert diagnostic["severity"] in ("ERROR", "WARNING", "INFO")
        start = diagnostic["location"].get("range", {}).get("start")
        assert start is None if finding.line < 1 else start["line"] == finding.line
        assert start is None or start["column"] > finding.column


def text_and_statistics_never_raise_and_never_emit_controls(report: Report, options: Options) -> None:
    for render in (text.render, statistics.render):
        assert_sayable(render(report, options), options.encoding or "utf-8")


def coloured_text_holds_no_escape_sequence_but_colours(report: Report, _: Options) -> None:
    coloured = text.render(report, Options(colour=True))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert plain == text.render(report, Options())
    assert_sayable(plain, "utf-8")


def markdown_has_tables_whose_rows_are_whole(report: Report, options: Options) -> None:
    output = markdown.render(report, options)
    assert_sayable(output, "utf-16" if options.encoding is None else "utf-8")
    table: list[int] = []
    for line in output.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not cells or not table or cells == table[-1], line
        table = [cells] if cells else []


CLAIMS = (
    json_is_valid_and_says_what_the_report_says,
    sarif_is_valid,
    junit_is_xml_whose_counts_hold,
    markdown_has_tables_whose_rows_are_whole,
    concise_has_one_line_for_each_cause,
    github_writes_commands_and_nothing_else,
    gitlab_has_one_issue_for_each_annotation,
    rdjson_has_one_diagnostic_for_each_annotation,
    text_and_statistics_never_raise_and_never_emit_controls,
    coloured_text_holds_no_escape_sequence_but_colours,
)


@settings(max_examples=60, deadline=None)
@given(_reports, _options)
def test_what_is_claimed_of_the_formats_holds_for_any_report(report: Report, options: Options) -> None:
    """All claims of one report: it takes longer to make one up than to write it in every format."""
    for claim in CLAIMS:
        claim(report, options)
