"""The JSON that other tools read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any

from inline_snapshot import snapshot
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from coldfork.model.effects import EffectKind, Position, StepKind, Verdict
from coldfork.model.findings import Finding, Report, Severity, Skipped
from coldfork.model.observations import ChangeScope, EnvironmentRead, Origin
from coldfork.report.findings.json_format import render
from coldfork.report.shared.options import Options

ReportMaker = Callable[..., Report]


def schema() -> dict[str, Any]:
    text = files("coldfork.report").joinpath("schemas/check.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def test_the_whole_output(report_of: ReportMaker, flash_attn: Finding) -> None:
    report = report_of(flash_attn, skipped=(Skipped("vllm/bad.py", "NUL byte"),))
    assert json.loads(render(report, Options(version="0.1.0"))) == snapshot(
        {
            "schema_version": 1,
            "tool": {"name": "coldfork", "version": "0.1.0"},
            "profile": "cuda",
            "profiles": ["cuda"],
            "stats": {"modules": 945, "read": 940, "cached": 5, "seconds": 1.234},
            "findings": [
                {
                    "id": "6f1d02a9c4",
                    "rule": "device-init-at-import",
                    "severity": "error",
                    "verdict": "certain",
                    "condition": None,
                    "presumed": ["vllm.vllm_flash_attn._vllm_fa2_C imports"],
                    "accelerator": "cuda",
                    "effect": "creates-context",
                    "module": "vllm.v1.attention.backends.flash_attn",
                    "path": "vllm/v1/attention/backends/flash_attn.py",
                    "file": "vllm/v1/attention/backends/flash_attn.py",
                    "cell": None,
                    "line": 175,
                    "column": 11,
                    "position": "class-body",
                    "test": False,
                    "confirmed": None,
                    "confirmation": None,
                    "message": "importing vllm.v1.attention.backends.flash_attn wakes cuda",
                    "remedy": "compute it on first use",
                    "fix": None,
                    "chain": [
                        {
                            "kind": "class-body",
                            "path": "vllm/v1/attention/backends/flash_attn.py",
                            "file": "vllm/v1/attention/backends/flash_attn.py",
                            "cell": None,
                            "line": 175,
                            "symbol": "FlashAttentionMetadataBuilder",
                            "text": "if get_flash_attn_version() == 3 else AttentionCGSupport.NEVER",
                        },
                        {
                            "kind": "call",
                            "path": "vllm/attention/utils/fa_utils.py",
                            "file": "vllm/attention/utils/fa_utils.py",
                            "cell": None,
                            "line": 56,
                            "symbol": "get_flash_attn_version",
                            "text": "if not is_fa_version_supported(fa_version):",
                        },
                        {
                            "kind": "call",
                            "path": "vllm/vllm_flash_attn/flash_attn_interface.py",
                            "file": "vllm/vllm_flash_attn/flash_attn_interface.py",
                            "cell": None,
                            "line": 55,
                            "symbol": "is_fa_version_supported",
                            "text": "return _is_fa2_supported()",
                        },
                        {
                            "kind": "call",
                            "path": "vllm/vllm_flash_attn/flash_attn_interface.py",
                            "file": "vllm/vllm_flash_attn/flash_attn_interface.py",
                            "cell": None,
                            "line": 35,
                            "symbol": "_is_fa2_supported",
                            "text": "capability = get_device_capability()",
                        },
                        {
                            "kind": "sink",
                            "path": None,
                            "file": None,
                            "cell": None,
                            "line": None,
                            "symbol": "torch.cuda.get_device_capability",
                            "text": "",
                        },
                    ],
                    "ways": [],
                    "program": None,
                    "cause": "b2ed5201aad2fcbf4390",
                }
            ],
            "causes": [
                {
                    "id": "b2ed5201aad2fcbf4390",
                    "path": "vllm/vllm_flash_attn/flash_attn_interface.py",
                    "file": "vllm/vllm_flash_attn/flash_attn_interface.py",
                    "cell": None,
                    "line": 35,
                    "call": "torch.cuda.get_device_capability",
                    "accelerator": "cuda",
                    "effect": "creates-context",
                    "verdict": "certain",
                    "condition": None,
                    "audience": "library",
                    "warms": 0,
                    "warms_certainly": 0,
                    "findings": ["6f1d02a9c4"],
                    "remedy": "compute it on first use",
                    "spares": 0,
                    "accepted": False,
                    "fix": None,
                    "then": [],
                    "ways": [],
                }
            ],
            "unfinished": [],
            "skipped": [{"path": "vllm/bad.py", "file": "vllm/bad.py", "reason": "NUL byte"}],
            "coverage": {
                "modules": 0,
                "read": 0,
                "entries": [],
                "unfinished": 0,
                "skipped": 1,
                "not_found": [],
                "calls_not_followed": 0,
                "not_parsed": 0,
                "left_out": [],
                "profiles_not_asked": [],
            },
            "environment": None,
            "changed": None,
            "proof": None,
        }
    )


def test_what_was_looked_at_fits_the_schema(report_of: ReportMaker, flash_attn: Finding) -> None:
    report = replace(
        report_of(flash_attn),
        environment=EnvironmentRead(
            ".venv", Origin.NEIGHBOUR, True, ("torch", "numpy\udcff"), (("dep", "DEBUG"),)
        ),
        scope=ChangeScope("main", ("src/a.py",), frozenset({"a.py"}), 3, 2),
    )
    written = json.loads(render(report, Options()))
    for key in ("environment", "changed"):
        assert list(written[key]) == schema()["properties"][key]["required"]
        assert list(written[key]) == list(schema()["properties"][key]["properties"])
    assert written["environment"] == {
        "path": ".venv",
        "origin": "neighbour",
        "read": True,
        "absent": ["torch", "numpy\\udcff"],
        "unset": [{"package": "dep", "variable": "DEBUG"}],
    }
    assert written["changed"] == {
        "since": "main",
        "files": ["src/a.py"],
        "affected": 1,
        "modules": 3,
        "left_out": 2,
        "everything": None,
    }


def test_keys_stand_in_the_order_of_the_schema(report_of: ReportMaker, flash_attn: Finding) -> None:
    written = json.loads(render(report_of(flash_attn), Options()))
    described = schema()
    assert list(written) == described["required"] == list(described["properties"])
    for key in ("tool", "stats"):
        assert list(written[key]) == described["properties"][key]["required"]
    finding = written["findings"][0]
    for value, description in (
        (finding, described["$defs"]["finding"]),
        (finding["chain"][0], described["$defs"]["step"]),
    ):
        assert list(value) == description["required"] == list(description["properties"])


def test_every_finding_has_a_line_of_its_own(
    report_of: ReportMaker, flash_attn: Finding, engine: Finding
) -> None:
    lines = render(report_of(flash_attn, engine), Options()).splitlines()
    findings = [json.loads(line.strip().rstrip(",")) for line in lines if '"chain"' in line]
    assert [finding["id"] for finding in findings] == ["6f1d02a9c4", "77aa"]


def test_the_schema_is_itself_valid() -> None:
    Draft202012Validator.check_schema(schema())


def test_the_schema_names_every_word_of_the_model() -> None:
    finding = schema()["$defs"]["finding"]["properties"]
    assert finding["severity"]["enum"] == [severity.value for severity in Severity]
    assert set(finding["verdict"]["enum"]) == {verdict.value for verdict in Verdict}
    assert finding["effect"]["enum"] == [*(kind.value for kind in EffectKind), None]
    assert finding["position"]["enum"] == [*(position.value for position in Position), None]
    assert schema()["$defs"]["step"]["properties"]["kind"]["enum"] == [kind.value for kind in StepKind]


def test_the_schema_refuses_what_is_not_described(report_of: ReportMaker, flash_attn: Finding) -> None:
    written = json.loads(render(report_of(flash_attn), Options()))
    validator = Draft202012Validator(schema())
    assert validator.is_valid(written)
    written["findings"][0]["chain"][0]["extra"] = 1
    assert not validator.is_valid(written)
    del written["findings"][0]["chain"][0]["extra"], written["findings"][0]["remedy"]
    assert not validator.is_valid(written)
