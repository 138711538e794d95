"""The schema of a run's report: every end a script can come to is described by it, and nothing else is.

Beside what is tested here, every report that any test of `tests/launch` and of `coldfork exec` leaves is held
against the schema; `conftest.py` sees to it.
"""

from __future__ import annotations

import copy
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]

from coldfork.launch.script.output_lines import OutputLine
from coldfork.launch.script.result import Outcome
from tests.launch.scripting import Bench, described

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux")

FAILS = """
def load():
    try:
        {}["shard"]
    except KeyError as error:
        raise RuntimeError("no shard") from error

load()
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_schema_is_one_and_names_every_outcome() -> None:
    schema = described().schema
    Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]["outcome"]["enum"]) == {*map(str, Outcome), "not-started", None}


@pytest.mark.parametrize(
    ("text", "how", "outcome"),
    [
        ("print('x')", {}, "succeeded"),
        (FAILS, {"start_method": "forkserver", "env": {"HOME": None, "MINE": "x"}}, "failed"),
        ("import os; os.kill(os.getpid(), 34)", {"inherit_env": False}, "killed"),
        ("import time; time.sleep(600)", {"timeout": 0.5, "grace": 0.2}, "timed-out"),
        ("import os; os._exit(3)", {"most_output": 0}, "failed"),
    ],
)
def test_a_report_has_every_key_in_the_order_of_the_schema(
    bench: Bench, text: str, how: dict[str, Any], outcome: str
) -> None:
    report = bench.run(text, **how).report
    assert report["outcome"] == outcome
    schema = described().schema
    described().validate(report)
    assert list(report) == schema["required"]
    assert [key for key in schema["properties"] if key != "noticed"] == schema["required"]


def test_a_report_is_described_while_its_script_runs_and_when_its_supervisor_was_killed(bench: Bench) -> None:
    started: list[dict[str, Any]] = []

    def seen(line: OutputLine) -> None:
        report = bench.only_run() / "report.json"
        started.append(json.loads(report.read_text(encoding="utf-8")))
        os.kill(int(line.text), signal.SIGKILL)

    text = "import os, time; print(os.getppid(), flush=True); time.sleep(600)"
    lost = bench.run(text, on_line=seen).report
    described().validate(started[0])
    described().validate(lost)
    assert (started[0]["state"], lost["state"]) == ("started", "abandoned")
    assert list(lost) == [*described().schema["required"], "noticed"]


def _without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda report: report.pop(key)


@pytest.mark.parametrize(
    "damage",
    [
        *map(_without, ("schema_version", "child", "unreachable")),
        lambda report: report.update(new_key=1),
        lambda report: report.update(outcome="lost"),
        lambda report: report.update(state="started"),
        lambda report: report.update(state="abandoned"),
        lambda report: report.update(noticed=report["ended"]),
        lambda report: report.update(signal="SIGKILL"),
        lambda report: report.update(status=None),
        lambda report: report.update(started="yesterday"),
        lambda report: report["child"].update(enforced="vfork"),
        lambda report: report["child"].pop("wakes"),
        lambda report: report["parent"]["states"][0].update(status="asleep"),
        lambda report: report["parent"].update(states=[]),
        lambda report: report["environment"]["set"].update(NUMBER=1),
        lambda report: report["output"].pop("stderr"),
    ],
)
def test_what_is_no_report_is_refused(
    whole: dict[str, Any], damage: Callable[[dict[str, Any]], object]
) -> None:
    report = copy.deepcopy(whole)
    described().validate(report)
    damage(report)
    with pytest.raises(ValidationError):
        described().validate(report)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of one script."""
    return Bench(tmp_path_factory.mktemp("whole")).run("pass").report


def test_a_report_that_is_none_is_noticed_where_it_lies(bench: Bench) -> None:
    """The check that `conftest.py` makes after each test notices a report that is none."""
    run = bench.run("pass").run_dir
    bench.require_described_reports()
    place = run / "report.json"
    kept = place.read_text(encoding="utf-8")
    place.write_text(kept.replace('"succeeded"', '"fine"'), encoding="utf-8")
    with pytest.raises(ValidationError):
        bench.require_described_reports()
    place.write_text(kept, encoding="utf-8")
