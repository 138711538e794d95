"""Measuring: the statistics, the clock, the memory of a process tree, and the promises beside the figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import check, large, measure, targets, tool, tools_under_test, trees
from benchmarks.measure import Spread
from published.errors import UnavailableError

pytestmark = pytest.mark.once

PYTHON = sys.executable


def test_a_spread_is_what_statistics_say() -> None:
    spread = Spread.of([5.0, 1.0, 2.0, 4.0, 3.0])
    assert (spread.median, spread.low, spread.high, spread.runs) == (3.0, 1.0, 5.0, 5)
    assert (spread.first_quartile, spread.third_quartile, spread.interquartile) == (2.0, 4.0, 2.0)
    assert str(spread) == "  3.00 s  (1.00 to 5.00, IQR 2.00)"
    alone = Spread.of([2.5])
    assert (alone.median, alone.interquartile) == (2.5, 0.0)
    with pytest.raises(UnavailableError, match="nothing was measured"):
        Spread.of([])


def test_a_run_is_timed_and_its_failure_is_told() -> None:
    run = measure.once([PYTHON, "-c", "import time; time.sleep(0.2)"])
    assert 0.2 <= run.seconds < 10
    assert run.peak_bytes is None
    assert run.cpu_seconds < run.seconds + 1
    with pytest.raises(UnavailableError, match="exits 3: went wrong"):
        measure.once([PYTHON, "-c", "import sys; print('went wrong', file=sys.stderr); sys.exit(3)"])
    assert measure.once([PYTHON, "-c", "import sys; sys.exit(1)"], statuses=frozenset({0, 1})).status == 1


def test_the_processors_are_timed_over_all_processes_of_a_run() -> None:
    spend = "import time\nwhile time.process_time() < 0.5: pass"
    both = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spend!r}]); exec({spend!r})"
    assert measure.once([PYTHON, "-c", both]).cpu_seconds >= 0.9
    slept = measure.once([PYTHON, "-c", "import time; time.sleep(0.6)"])
    assert slept.cpu_seconds < slept.seconds - 0.5  # however long a busy machine takes to start it


def test_a_run_that_does_not_end_is_ended() -> None:
    with pytest.raises(UnavailableError, match="took more than 0 s"):
        measure.once([PYTHON, "-c", "import time; time.sleep(60)"], limit=0.3)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is sampled from /proc")
def test_memory_is_summed_over_the_process_tree() -> None:
    holding = "data = bytearray(b'x') * 40_000_000; import time; time.sleep(0.4)"
    both = f"import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {holding!r}]); {holding}"
    one = measure.once([PYTHON, "-c", holding], memory=True).peak_bytes
    two = measure.once([PYTHON, "-c", both + "; child.wait()"], memory=True).peak_bytes
    assert one is not None
    assert two is not None
    assert 40e6 < one < 80e6
    assert two > one + 35e6


def test_promises_stand_beside_the_figures() -> None:
    kept = targets.compare("vllm-0.11.0", {"cold": 1.2, "warm": 0.4, "unknown": 1.0})
    assert [(one.target.figure, one.met) for one in kept] == [("cold", True), ("warm", False)]
    assert str(kept[0]) == "met    cold: 1.2 s, promised 1.3 s"
    assert str(kept[1]) == "MISSED warm: 0.4 s, promised 0.35 s"
    assert targets.compare("another", {"cold": 0.1}) == ()


def test_every_promise_is_about_a_tree_that_is_measured() -> None:
    measured = {tree.name for tree in trees.TREES} | large.MEASURED
    assert {target.tree for target in targets.TARGETS} <= measured


def test_even_growth_is_told_from_uneven() -> None:
    sizes = [5.0, 10.0, 20.0, 40.0, 60.0, 80.0]
    assert targets.grows_evenly([(size, 0.3 + 0.1 * size) for size in sizes])
    assert not targets.grows_evenly([(size, 0.3 + 0.002 * size * size) for size in sizes])
    with pytest.raises(UnavailableError, match="three sizes"):
        targets.grows_evenly([(1.0, 1.0), (2.0, 2.0)])


def test_figures_become_ratios_headlines_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = check.Figures("vllm-0.11.0", 3, 1.5)
    figures.seconds.update(cold=[1.0, 3.0], warm=[0.2, 0.2], edited=[0.3, 0.3], lifeguard=[2.0, 4.0])
    figures.cpu_seconds.update(cold=[1.5, 3.0], warm=[0.2, 0.2], edited=[0.3, 0.3], lifeguard=[3.0, 3.0])
    figures.peak_megabytes["coldfork"] = 90.0
    figures.troubles["grimp"] = "not here"
    assert figures.ratios("cold", "lifeguard") == [0.5, 0.75]
    assert check.headline(figures) == {
        "cold": 2.0, "warm": 0.2, "edited": 0.3, "peak memory": 90.0,
        "cold / lifeguard": 0.625, "cold CPU / lifeguard": 0.75,
    }  # fmt: skip
    check.show(figures)
    said = capsys.readouterr().out
    wall, cpu = "0.62 of lifeguard's time (0.50 to 0.75)", "0.75 of its CPU seconds (0.50 to 1.00)"
    ratios = f"coldfork cold takes {wall} and {cpu}"
    assert said.index(ratios) < said.index("coldfork cold  ")
    assert "CPU   2.25 s  n=2" in said
    assert "met    cold / lifeguard: 0.625 x, promised 0.7 x" in said
    assert "grimp could not be timed: not here" in said
    output = tmp_path / "figures.json"
    check._write(output, [figures], [(1.0, 0.5)])
    data = json.loads(output.read_text())
    assert data["trees"][0]["seconds"]["cold"] == [1.0, 3.0]
    assert {promise["figure"]: promise["met"] for promise in data["promises"]}["cold"] is False
    assert data["scaling"] == [{"megabytes": 1.0, "seconds": 0.5}]


def tiny_tree(tmp_path: Path) -> trees.Copy:
    package = tmp_path / "published" / "engine"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import engine.core\n")
    (package / "core.py").write_text("VALUE = 1\n")
    return trees.copy(package, tmp_path / "tree", "fresh", tmp_path / "beside")


def test_coldfork_is_run_with_a_cache_of_its_own(tmp_path: Path) -> None:
    job = tools_under_test.coldfork(tiny_tree(tmp_path), tmp_path / "cache", tmp_path / "out.json")
    assert job.command[1:5] == ("-m", "coldfork", "check", str(tmp_path / "tree" / "fresh"))
    assert job.command[-2:] == ("--site-packages", str(tmp_path / "beside"))
    assert job.environment is not None
    assert job.environment["COLDFORK_CACHE_DIR"] == str(tmp_path / "cache")


def test_a_run_that_left_files_out_does_not_count(tmp_path: Path) -> None:
    copied, output = tiny_tree(tmp_path), tmp_path / "out.json"
    output.write_text('{"stats": {"modules": 1}}')
    with pytest.raises(UnavailableError, match="coldfork read 1 modules of 2 files"):
        check._require_everything_read(output, copied)
    output.write_text('{"stats": {"modules": 2}}')
    check._require_everything_read(output, copied)


def test_every_peer_reads_the_fresh_copy(tmp_path: Path) -> None:
    copied = tiny_tree(tmp_path)
    for peer in tools_under_test.PEERS:
        command = peer.command(tmp_path / "bin", copied, tmp_path)
        assert str(copied.folder) in command, peer.name
        assert (str(copied.beside) in command) == peer.reads_dependencies, peer.name


def test_an_interpreter_is_found_or_refused_plainly() -> None:
    assert tools_under_test.interpreter((3, 11)) == sys.executable
    with pytest.raises(UnavailableError, match=r"no Python 3\.99 or newer"):
        tools_under_test.interpreter((3, 99))


def test_findings_are_counted_by_verdict() -> None:
    rows = [
        {"effect": effect, "test": test, "verdict": verdict}
        for effect, test, verdict in (
            ("creates-context", False, "certain"),
            ("queries-device", False, "certain"),
            ("initialises-driver", True, "certain"),
            ("initialises-driver", False, "possible"),
            (None, False, "certain"),
        )
    ]
    waking = tool.waking({"findings": rows})
    assert tool.counts(waking) == {"possible": 1, "conditional": 0, "certain": 1}
