"""Figures of scripts: counted where they are added, read by the parsers of those who will read them."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import coldfork
from coldfork.launch.distribution import BOUNDS, Distribution
from coldfork.launch.figures import (
    POOLS,
    SCRIPT_RUNS,
    SCRIPTS,
    Figures,
    Kind,
    Measure,
    Sample,
    prometheus_text,
)
from coldfork.launch.script.result import Outcome, ScriptResult
from coldfork.model.errors import UsageError

ODD = 'a "quoted" \\ back\nline'


def result(outcome: Outcome = Outcome.SUCCEEDED, seconds: float = 0.2) -> ScriptResult:
    return ScriptResult(
        outcome=outcome,
        status=0,
        signal=None,
        seconds=seconds,
        start_method="spawn",
        enforced=True,
        stdout="",
        stderr="",
        run_dir=Path(),
        peak_memory_bytes=None,
        exception=None,
        wakes=(),
        states=None,
        left_behind=(),
    )


@pytest.fixture
def figures() -> Figures:
    """Three scripts have ended."""
    made = Figures()
    for one in (result(), result(seconds=3.0), result(Outcome.TIMED_OUT, 9000.0)):
        assert made.add(one) is one
    return made


def test_the_text_is_what_prometheus_reads(figures: Figures) -> None:
    assert (
        figures.prometheus_text()
        == """\
# HELP coldfork_script_runs_total Isolated scripts that have ended, by how they ended.
# TYPE coldfork_script_runs_total counter
coldfork_script_runs_total{outcome="succeeded"} 2
coldfork_script_runs_total{outcome="failed"} 0
coldfork_script_runs_total{outcome="killed"} 0
coldfork_script_runs_total{outcome="timed-out"} 1
coldfork_script_runs_total{outcome="over-memory"} 0
coldfork_script_runs_total{outcome="over-cpu"} 0
coldfork_script_runs_total{outcome="cancelled"} 0
coldfork_script_runs_total{outcome="caller-died"} 0
coldfork_script_runs_total{outcome="lost"} 0
# HELP coldfork_script_duration_seconds How long isolated scripts have run.
# TYPE coldfork_script_duration_seconds histogram
coldfork_script_duration_seconds_bucket{le="0.0001"} 0
coldfork_script_duration_seconds_bucket{le="0.0005"} 0
coldfork_script_duration_seconds_bucket{le="0.001"} 0
coldfork_script_duration_seconds_bucket{le="0.005"} 0
coldfork_script_duration_seconds_bucket{le="0.01"} 0
coldfork_script_duration_seconds_bucket{le="0.05"} 0
coldfork_script_duration_seconds_bucket{le="0.1"} 0
coldfork_script_duration_seconds_bucket{le="0.5"} 1
coldfork_script_duration_seconds_bucket{le="1"} 1
coldfork_script_duration_seconds_bucket{le="5"} 2
coldfork_script_duration_seconds_bucket{le="10"} 2
coldfork_script_duration_seconds_bucket{le="60"} 2
coldfork_script_duration_seconds_bucket{le="300"} 2
coldfork_script_duration_seconds_bucket{le="1800"} 2
coldfork_script_duration_seconds_bucket{le="7200"} 2
coldfork_script_duration_seconds_bucket{le="+Inf"} 3
coldfork_script_duration_seconds_sum 9003.2
coldfork_script_duration_seconds_count 3
"""
    )


def test_a_value_on_a_bound_lies_below_it() -> None:
    counted = Distribution((1.0, 2.0))
    for value in (0.0, 1.0, 1.5, 2.0, 2.5):
        counted.add(value)
    assert counted.read().counts == (2, 2, 1)
    assert (counted.read().sum, counted.read().count) == (7.0, 5)


def test_prometheus_own_parser_reads_it_back(figures: Figures) -> None:
    pytest.importorskip("prometheus_client")
    from prometheus_client.parser import text_string_to_metric_families

    families = {family.name: family for family in text_string_to_metric_families(figures.prometheus_text())}
    assert set(families) == {"coldfork_script_runs", "coldfork_script_duration_seconds"}
    runs = families["coldfork_script_runs"]
    assert (runs.type, runs.documentation) == ("counter", SCRIPT_RUNS.help)
    assert {one.labels["outcome"]: one.value for one in runs.samples if one.value} == {
        "succeeded": 2.0,
        "timed-out": 1.0,
    }
    duration = families["coldfork_script_duration_seconds"]
    assert duration.type == "histogram"
    assert {one.name[-4:]: one.value for one in duration.samples if "bucket" not in one.name} == {
        "_sum": 9003.2,
        "ount": 3.0,
    }


def test_odd_texts_survive_the_way_to_prometheus_and_back() -> None:
    pytest.importorskip("prometheus_client")
    from prometheus_client.parser import text_string_to_metric_families

    measure = Measure("odd.one", Kind.GAUGE, "By", ODD)
    text = prometheus_text([Sample(measure, 1.5, (("pool", ODD),)), Sample(measure, 1e20, (("pool", "é"),))])
    assert len(text.splitlines()) == 4
    (family,) = text_string_to_metric_families(text)
    assert (family.name, family.documentation) == ("odd_one_bytes", ODD)
    assert [(one.labels["pool"], one.value) for one in family.samples] == [(ODD, 1.5), ("é", 1e20)]


def test_the_names_are_as_promtool_wants_them(figures: Figures) -> None:
    text = figures.prometheus_text()
    lines = text.splitlines()
    assert text.endswith("\n")
    for number, line in enumerate(lines):
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
            assert lines[number + 1].startswith(f"# TYPE {name} ")
            counts = lines[number + 1].endswith(" counter")
            assert name.endswith("_total") is counts
    names = [measure.name for measure in (*SCRIPTS, *POOLS)]
    assert len(set(names)) == len(names)
    for measure in (*SCRIPTS, *POOLS):
        assert measure.help.endswith(".")
        assert (measure.kind is Kind.HISTOGRAM) is (measure.unit == "s")


def collected(reader: Any) -> dict[str, Any]:
    """Return the contents of a reader of OpenTelemetry, by name."""
    data = reader.get_metrics_data()
    return {
        metric.name: metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_opentelemetry_reads_the_counters_and_hears_each_duration(figures: Figures) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    figures.observe_with(provider.get_meter("service"))
    figures.add(result(Outcome.FAILED, 0.7))
    found = collected(reader)
    provider.shutdown()
    runs = found["coldfork.script.runs"]
    assert (runs.unit, runs.description) == ("{run}", SCRIPT_RUNS.help)
    assert runs.data.is_monotonic
    assert {p.attributes["outcome"]: p.value for p in runs.data.data_points if p.value} == {
        "succeeded": 2,
        "timed-out": 1,
        "failed": 1,
    }
    (duration,) = found["coldfork.script.duration"].data.data_points
    assert found["coldfork.script.duration"].unit == "s"
    assert (duration.count, duration.sum) == (1, 0.7)
    assert tuple(duration.explicit_bounds) == BOUNDS


def test_without_opentelemetry_it_is_said_what_to_install(
    figures: Figures, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec("opentelemetry") is not None:
        monkeypatch.setattr("coldfork.launch.figures.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'coldfork\[otel\]'"):
        figures.observe_with(object())


def test_a_real_script_is_counted(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise SystemExit(3)", encoding="utf-8")
    figures = coldfork.Figures()
    figures.add(coldfork.run_script(script, log_dir=tmp_path / "runs"))
    assert 'coldfork_script_runs_total{outcome="failed"} 1\n' in figures.prometheus_text()
