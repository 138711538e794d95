"""What is found in captured code goes the way of all findings: every format, comments, baseline, cache."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result
from inline_snapshot import snapshot

import coldfork.report
from coldfork.cli.main import cli
from tests.source.capturing import RULES

SCHEMA = Path(coldfork.report.__file__).parent / "schemas" / "check.schema.json"
ENGINE = '''"""An engine that captures its own forward."""

import torch


def plan(metadata):
    if metadata.plan is None:
        metadata.plan = torch.cumsum(metadata.lengths, 0)
    return metadata.plan


class Engine:
    def forward(self, x: torch.Tensor, metadata):
        if metadata.debug:
            print(x)
        return x + plan(metadata)

    def capture(self, x: torch.Tensor, metadata):
        self.forward(x, metadata)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            return self.forward(x, metadata)
'''
LINE = 20
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `coldfork` in a folder that holds the engine, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "engine.py").write_text(ENGINE, encoding="utf-8")

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(
            cli, [*arguments, "--site-packages", "nothing", "engine.py"], prog_name="coldfork"
        )
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return invoke


def found(result: Result) -> list[dict[str, Any]]:
    """The findings of a JSON output that the schema accepts."""
    document = json.loads(result.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    findings: list[dict[str, Any]] = document["findings"]
    return findings


def test_text_tells_the_way_from_the_capture(run: Run) -> None:
    result = run("check", "--color", "never")
    assert result.exit_code == 1
    assert result.stdout.rpartition("2 causes")[0] == snapshot("""\
error[capture-reuses-warmup-state] plan is captured with metadata.plan already set by the warm-up
  --> engine.py:20  captured by Engine.capture
      with torch.cuda.graph(torch.cuda.CUDAGraph()):
   1. Engine.capture                engine.py:21
   2. Engine.forward                engine.py:16
   3. plan                          engine.py:7
   4. metadata.plan, set on the first run only
   = what is done on the first run only is missing from the graph: a replay computes with what the warm-up
     left
   = certain on cuda
   = help: create what holds metadata.plan again for the capture, after the warm-up; read more:
     coldfork rule capture-reuses-warmup-state

warning[sync-in-captured-region] captured code can wait for the device: print of x at engine.py:15
  --> engine.py:20  captured by Engine.capture
      with torch.cuda.graph(torch.cuda.CUDAGraph()):
   1. Engine.capture                engine.py:21
   2. Engine.forward                engine.py:15
   3. print of x
   = a stream under capture refuses this, and the capture is lost
   = conditional on cuda: only when `metadata.debug and x is on the GPU`
   = help: do it before the capture, or keep the value on the device; read more:
     coldfork rule sync-in-captured-region

""")


def test_json_keeps_to_its_schema(run: Run) -> None:
    told = found(run("check", "--format", "json"))
    assert [(one["rule"], one["line"], one["verdict"], one["condition"]) for one in told] == snapshot(
        [
            ("capture-reuses-warmup-state", 20, "certain", None),
            ("sync-in-captured-region", 20, "conditional", "metadata.debug and x is on the GPU"),
        ]
    )
    kinds = [[step["kind"] for step in one["chain"]] for one in told]
    assert kinds == snapshot(
        [["capture", "call", "call", "call", "sink"], ["capture", "call", "call", "sink"]]
    )


def test_the_short_formats_know_them(run: Run) -> None:
    concise = run("check", "--format", "concise").stdout
    assert concise == snapshot("""\
engine.py:20:14: error[capture-reuses-warmup-state] plan is captured with metadata.plan already set by the warm-up (certain)
engine.py:20:14: warning[sync-in-captured-region] captured code can wait for the device: print of x at engine.py:15 (conditional)
""")
    sarif = json.loads(run("check", "--format", "sarif").stdout)["runs"][0]
    assert {result["ruleId"] for result in sarif["results"]} == {RULES[0], RULES[2]}
    assert all(result["codeFlows"] for result in sarif["results"])
    assert set(RULES) <= {rule["id"] for rule in sarif["tool"]["driver"]["rules"]}
    assert run("check", "--format", "junit").stdout.count("capture-reuses-warmup-state") > 0


def test_the_second_run_says_the_same_from_the_cache(run: Run) -> None:
    first = found(run("check", "--format", "json"))
    assert found(run("check", "--format", "json")) == first
    assert found(run("check", "--format", "json", "--no-cache")) == first


def test_an_edit_is_seen_and_an_untouched_finding_keeps_its_id(run: Run, tmp_path: Path) -> None:
    before = found(run("check", "--format", "json"))
    mended = ENGINE.replace("            print(x)\n", "            pass\n").replace(
        "import torch\n", "import torch\n\n"
    )
    (tmp_path / "engine.py").write_text(mended, encoding="utf-8")
    after = found(run("check", "--format", "json"))
    assert [one["rule"] for one in after] == [RULES[0]]
    assert after[0]["line"] == LINE + 1
    assert after[0]["id"] in {one["id"] for one in before}


def test_comments_hold_them_back_and_idle_ones_are_told(run: Run, tmp_path: Path) -> None:
    def commented(comment: str) -> list[str]:
        lines = ENGINE.splitlines()
        lines[LINE - 1] += f"  # coldfork: ignore[{comment}] measured"
        (tmp_path / "engine.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return [one["rule"] for one in found(run("check", "--format", "json"))]

    assert commented(RULES[0]) == [RULES[2]]
    assert commented(f"{RULES[0]}, {RULES[2]}") == []
    assert commented(f"{RULES[0]}, {RULES[2]}, {RULES[1]}") == ["unused-ignore"]


def test_a_baseline_accepts_them(run: Run) -> None:
    assert run("baseline", "write", "accepted.json").exit_code == 0
    result = run("check", "--baseline", "accepted.json")
    assert result.exit_code == 0
    assert "2 known to the baseline" in result.stdout


def test_rules_can_be_chosen(run: Run) -> None:
    assert [one["rule"] for one in found(run("check", "--format", "json", "--ignore", RULES[0]))] == [
        RULES[2]
    ]
    assert found(run("check", "--format", "json", "--rules", RULES[3])) == []
