"""SARIF 2.1.0 for code hosts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from coldfork.model.causes import Applicability, Edit, Fix
from coldfork.model.findings import Finding, Report, Skipped
from coldfork.report.findings.hosts.sarif import render
from coldfork.report.shared.options import Options, RuleText

ReportMaker = Callable[..., Report]
_RULE = RuleText(
    "A line that wakes a device on import.", "# What it does\n\nWakes.", "https://example.org/rule"
)


def run_of(report: Report, options: Options) -> dict[str, Any]:
    (run,) = json.loads(render(report, options))["runs"]
    found: dict[str, Any] = run
    return found


def test_the_whole_output(report_of: ReportMaker, engine: Finding) -> None:
    options = Options(version="0.1.0", rules={"waking-import": _RULE})
    report = report_of(engine, skipped=(Skipped("vllm/bad file.py", "NUL byte"),))
    assert json.loads(render(report, options)) == snapshot(
        {
            "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "coldfork",
                            "version": "0.1.0",
                            "rules": [
                                {
                                    "id": "waking-import",
                                    "name": "WakingImport",
                                    "shortDescription": {"text": "A line that wakes a device on import."},
                                    "fullDescription": {"text": "A line that wakes a device on import."},
                                    "help": {
                                        "text": "coldfork rule waking-import",
                                        "markdown": """\
# What it does

Wakes.\
""",
                                    },
                                    "helpUri": "https://example.org/rule",
                                }
                            ],
                        }
                    },
                    "automationDetails": {"id": "coldfork/cuda/"},
                    "columnKind": "unicodeCodePoints",
                    "originalUriBaseIds": {
                        "SRCROOT": {"description": {"text": "The folder that paths are relative to."}}
                    },
                    "invocations": [
                        {
                            "executionSuccessful": True,
                            "toolExecutionNotifications": [
                                {
                                    "level": "warning",
                                    "message": {"text": "not analysed: NUL byte"},
                                    "locations": [
                                        {
                                            "physicalLocation": {
                                                "artifactLocation": {
                                                    "uri": "vllm/bad%20file.py",
                                                    "uriBaseId": "SRCROOT",
                                                }
                                            }
                                        }
                                    ],
                                }
                            ],
                        }
                    ],
                    "results": [
                        {
                            "ruleId": "waking-import",
                            "ruleIndex": 0,
                            "level": "error",
                            "message": {
                                "text": """\
importing vllm.engine imports vllm.v1.attention.backends.flash_attn, which wakes cuda.
every process that imports this module can no longer fork workers that use the GPU.
conditional on cuda: only when `current_platform.is_cuda() and has_nixl_ep()`.
import it in the function that uses it.\
"""
                            },
                            "locations": [
                                {
                                    "physicalLocation": {
                                        "artifactLocation": {"uri": "vllm/engine.py", "uriBaseId": "SRCROOT"},
                                        "region": {
                                            "startLine": 12,
                                            "startColumn": 1,
                                            "endLine": 13,
                                            "snippet": {
                                                "text": """\
from vllm.v1 import (
    flash_attn,
)\
"""
                                            },
                                        },
                                    }
                                }
                            ],
                            "partialFingerprints": {"coldforkFingerprint/v1": "77aa"},
                            "properties": {
                                "verdict": "conditional",
                                "condition": """\
current_platform.is_cuda()
    and has_nixl_ep()\
""",
                                "presumed": [],
                                "accelerator": "cuda",
                                "cause": "b2ed5201aad2fcbf4390",
                                "audience": "library",
                            },
                            "relatedLocations": [
                                {
                                    "physicalLocation": {
                                        "artifactLocation": {
                                            "uri": "vllm/vllm_flash_attn/flash_attn_interface.py",
                                            "uriBaseId": "SRCROOT",
                                        },
                                        "region": {"startLine": 35},
                                    },
                                    "message": {"text": "the cause: torch.cuda.get_device_capability"},
                                }
                            ],
                            "codeFlows": [
                                {
                                    "threadFlows": [
                                        {
                                            "locations": [
                                                {
                                                    "location": {
                                                        "message": {"text": "vllm.engine"},
                                                        "physicalLocation": {
                                                            "artifactLocation": {
                                                                "uri": "vllm/engine.py",
                                                                "uriBaseId": "SRCROOT",
                                                            },
                                                            "region": {
                                                                "startLine": 12,
                                                                "snippet": {
                                                                    "text": "from vllm.v1 import flash_attn"
                                                                },
                                                            },
                                                        },
                                                    },
                                                    "nestingLevel": 0,
                                                    "kinds": ["import"],
                                                    "importance": "essential",
                                                },
                                                {
                                                    "location": {
                                                        "message": {
                                                            "text": "vllm.v1.attention.backends.flash_attn"
                                                        },
                                                        "physicalLocation": {
                                                            "artifactLocation": {
                                                                "uri": "vllm/v1/attention/backends/flash_attn.py",
                                                                "uriBaseId": "SRCROOT",
                                                            },
                                                            "region": {"startLine": 175},
                                                        },
                                                    },
                                                    "nestingLevel": 1,
                                                    "kinds": ["import"],
                                                    "importance": "important",
                                                },
                                                {
                                                    "location": {
                                                        "message": {"text": "get_flash_attn_version"},
                                                        "physicalLocation": {
                                                            "artifactLocation": {
                                                                "uri": "vllm/attention/utils/fa_utils.py",
                                                                "uriBaseId": "SRCROOT",
                                                            },
                                                            "region": {
                                                                "startLine": 56,
                                                                "snippet": {
                                                                    "text": "if not is_fa_version_supported(fa_version):"
                                                                },
                                                            },
                                                        },
                                                    },
                                                    "nestingLevel": 2,
                                                    "kinds": ["call"],
                                                    "importance": "important",
                                                },
                                                {
                                                    "location": {
                                                        "message": {"text": "is_fa_version_supported"},
                                                        "physicalLocation": {
                                                            "artifactLocation": {
                                                                "uri": "vllm/vllm_flash_attn/flash_attn_interface.py",
                                                                "uriBaseId": "SRCROOT",
                                                            },
                                                            "region": {
                                                                "startLine": 55,
                                                                "snippet": {
                                                                    "text": "return _is_fa2_supported()"
                                                                },
                                                            },
                                                        },
                                                    },
                                                    "nestingLevel": 3,
                                                    "kinds": ["call"],
                                                    "importance": "important",
                                                },
                                                {
                                                    "location": {
                                                        "message": {"text": "_is_fa2_supported"},
                                                        "physicalLocation": {
                                                            "artifactLocation": {
                                                                "uri": "vllm/vllm_flash_attn/flash_attn_interface.py",
                                                                "uriBaseId": "SRCROOT",
                                                            },
                                                            "region": {
                                                                "startLine": 35,
                                                                "snippet": {
                                                                    "text": "capability = get_device_capability()"
                                                                },
                                                            },
                                                        },
                                                    },
                                                    "nestingLevel": 4,
                                                    "kinds": ["call"],
                                                    "importance": "important",
                                                },
                                                {
                                                    "location": {
                                                        "message": {
                                                            "text": "torch.cuda.get_device_capability creates a CUDA context"
                                                        }
                                                    },
                                                    "nestingLevel": 5,
                                                    "kinds": ["call"],
                                                    "importance": "essential",
                                                },
                                            ]
                                        }
                                    ]
                                }
                            ],
                        }
                    ],
                }
            ],
        }
    )


def test_rules_beyond_the_checked_ones_are_described_too(
    report_of: ReportMaker, flash_attn: Finding, engine: Finding
) -> None:
    run = run_of(report_of(flash_attn, engine), Options(rules={"waking-import": _RULE}))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["waking-import", "device-init-at-import"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == [
        "device-init-at-import",
        "waking-import",
    ]
    assert "helpUri" not in rules[1]


def test_fingerprints_do_not_hang_on_lines(report_of: ReportMaker, flash_attn: Finding) -> None:
    moved = replace(flash_attn, line=999)
    results = run_of(report_of(flash_attn, moved), Options())["results"]
    assert results[0]["partialFingerprints"] == results[1]["partialFingerprints"]


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("pkg/größe a%b.py", {"uri": "pkg/gr%C3%B6%C3%9Fe%20a%25b.py", "uriBaseId": "SRCROOT"}),
        ("a:b.py", {"uri": "a%3Ab.py", "uriBaseId": "SRCROOT"}),
        ("pkg/\udcff.py", {"uri": "pkg/%FF.py", "uriBaseId": "SRCROOT"}),
        ("/opt/site/x y.py", {"uri": "file:///opt/site/x%20y.py"}),
        ("//opt/x.py", {"uri": "file:///opt/x.py"}),
        ("C:/site/x.py", {"uri": "file:///C%3A/site/x.py"}),
        ("C:\\site\\x.py", {"uri": "file:///C%3A/site/x.py"}),
    ],
)
def test_paths_become_uris(
    report_of: ReportMaker, flash_attn: Finding, path: str, location: dict[str, str]
) -> None:
    (result,) = run_of(report_of(replace(flash_attn, path=path)), Options())["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == location


def test_columns_count_from_one_and_the_end_is_given(report_of: ReportMaker, engine: Finding) -> None:
    (result,) = run_of(report_of(engine), Options())["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"], region["endLine"]) == (12, 1, 13)


def test_a_finding_about_a_whole_file_has_no_region(report_of: ReportMaker, flash_attn: Finding) -> None:
    (result,) = run_of(report_of(replace(flash_attn, line=0)), Options())["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]


def test_a_fix_stands_at_the_finding_to_mend_first(report_of: ReportMaker, flash_attn: Finding) -> None:
    report = report_of(flash_attn)
    (cause,) = report.causes
    edits = (Edit("vllm/a.py", 3, 5, 3, 9, "None"), Edit("vllm/a.py", 7, 1, 7, 1, "x = 1\n"))
    fix = Fix(cause.id, Applicability.UNSAFE, "a call may hand None", edits)
    shown = replace(fix, applicability=Applicability.SHOWN, edits=edits[:1])
    said = []
    for one in (fix, shown):
        (result,) = run_of(replace(report, fixes={cause.id: one}), Options())["results"]
        said.append(result["fixes"])
    assert said[0] == [
        {
            "description": {
                "text": "fix: --fix=unsafe writes one; it may change what the program does: a call may hand None"
            },
            "artifactChanges": [
                {
                    "artifactLocation": {"uri": "vllm/a.py", "uriBaseId": "SRCROOT"},
                    "replacements": [
                        {
                            "deletedRegion": {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 9},
                            "insertedContent": {"text": "None"},
                        },
                        {
                            "deletedRegion": {"startLine": 7, "startColumn": 1, "endLine": 7, "endColumn": 1},
                            "insertedContent": {"text": "x = 1\n"},
                        },
                    ],
                }
            ],
            "properties": {"applicability": "unsafe"},
        }
    ]
    assert said[1][0]["properties"] == {"applicability": "shown"}
    assert said[1][0]["description"]["text"] == "fix: by hand, from what is shown: a call may hand None"
