"""`coldfork baseline`: what is accepted, what is new, what is gone, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from inline_snapshot import snapshot

Run = Callable[..., Result]


@pytest.fixture
def written(run: Run, project: Path, engine: Any, effect: Any) -> Path:
    """A baseline that accepts two findings."""
    engine.sees(effect(7), effect(9, text="CAPABILITY = torch.cuda.get_device_capability()"))
    assert run("baseline", "write").exit_code == 0
    return project / "coldfork-baseline.json"


def test_write_says_what_it_accepts_and_what_comes_next(run: Run, engine: Any, effect: Any) -> None:
    engine.sees(effect())
    result = run("baseline", "write")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == snapshot("""\
coldfork-baseline.json accepts 1 finding.
Next: commit it, and run coldfork check --baseline coldfork-baseline.json
""")


def test_the_file_has_one_finding_a_line(written: Path) -> None:
    lines = [line for line in written.read_text(encoding="utf-8").splitlines() if "engine/core.py" in line]
    assert len(lines) == 2
    document = json.loads(written.read_text(encoding="utf-8"))
    assert (document["schema_version"], document["profile"]) == (1, "cuda")
    assert [set(entry) for entry in document["findings"].values()] == [{"rule", "path", "message"}] * 2
    assert lines == sorted(lines, key=lambda line: line.split('"')[1])


def test_an_empty_baseline_is_a_baseline(run: Run, project: Path, engine: Any) -> None:
    assert run("baseline", "write").exit_code == 0
    assert json.loads((project / "coldfork-baseline.json").read_text(encoding="utf-8"))["findings"] == {}
    assert run("check", "--baseline", "coldfork-baseline.json").exit_code == 0


def test_known_findings_pass_though_their_lines_move(
    run: Run, written: Path, engine: Any, effect: Any
) -> None:
    engine.sees(effect(70), effect(90, text="CAPABILITY = torch.cuda.get_device_capability()"))
    result = run("check", "--baseline", str(written))
    assert result.exit_code == 0
    assert "2 known to the baseline" in result.stdout


def test_new_ones_fail_and_gone_ones_are_counted(run: Run, written: Path, engine: Any, effect: Any) -> None:
    engine.sees(effect(7), effect(8, text="NAME = torch.cuda.get_device_name()"))
    result = run("check", "--baseline", str(written))
    assert result.exit_code == 1
    assert "core.py:8" in result.stdout
    assert "core.py:7" not in result.stdout
    assert "1 known to the baseline" in result.stdout
    assert "1 in the baseline and gone" in " ".join(result.stdout.split())
    assert "coldfork baseline prune" in result.stdout


def test_the_baseline_of_the_configuration_is_relative_to_it(
    run: Run,
    written: Path,
    engine: Any,
    project: Path,
    configure: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure('baseline = "coldfork-baseline.json"\n')
    monkeypatch.chdir(project / "src")
    assert run("check", "engine").exit_code == 0


def test_writing_does_not_look_at_the_old_baseline(
    run: Run, written: Path, configure: Callable[[str], Path]
) -> None:
    configure('baseline = "coldfork-baseline.json"\n')
    before = written.read_text(encoding="utf-8")
    assert run("baseline", "write").exit_code == 0
    assert written.read_text(encoding="utf-8") == before


def test_show_lists_them(run: Run, written: Path) -> None:
    result = run("baseline", "show")
    assert result.stdout == snapshot("""\
engine/core.py: [device-init-at-import] importing engine.core wakes cuda
engine/core.py: [device-init-at-import] importing engine.core wakes cuda
coldfork-baseline.json accepts 2 findings under the profile cuda.
""")


def test_prune_drops_what_is_gone_and_adds_nothing(run: Run, written: Path, engine: Any, effect: Any) -> None:
    engine.sees(effect(7), effect(8, text="NAME = torch.cuda.get_device_name()"))
    result = run("baseline", "prune")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == snapshot("""\
1 finding gone, 1 still there, 1 new.
Next: coldfork check --baseline coldfork-baseline.json shows the new ones
""")
    assert len(json.loads(written.read_text(encoding="utf-8"))["findings"]) == 1
    assert run("check", "--baseline", str(written)).exit_code == 1


def test_prune_leaves_the_file_alone_when_nothing_is_gone(run: Run, written: Path) -> None:
    stamp = written.stat().st_mtime_ns
    assert run("baseline", "prune").stdout == "0 findings gone, 2 still there, 0 new.\n"
    assert written.stat().st_mtime_ns == stamp


def test_prune_calls_nothing_gone_when_a_path_is_missing(run: Run, written: Path, engine: Any) -> None:
    engine.sees()
    before = written.read_text(encoding="utf-8")
    result = run("baseline", "prune", str(written), "src", "nowhere")
    assert result.exit_code == 2
    assert "was left unchanged" in result.stderr
    assert written.read_text(encoding="utf-8") == before


def test_write_takes_a_file_paths_and_the_flags_of_the_analysis(run: Run, project: Path, engine: Any) -> None:
    result = run("baseline", "write", "accepted.json", "src/engine", "--profile", "rocm", "--jobs", "1")
    assert result.exit_code == 0
    assert (engine.request.paths, engine.request.profile.name) == ((Path("src/engine"),), "rocm")
    assert json.loads((project / "accepted.json").read_text(encoding="utf-8"))["profile"] == "rocm"


def test_a_path_in_the_files_place_is_a_path(run: Run, project: Path, engine: Any) -> None:
    source = project / "src" / "engine" / "core.py"
    for path in (Path("src"), source):
        (project / "coldfork-baseline.json").unlink(missing_ok=True)
        assert run("baseline", "write", str(path)).exit_code == 0
        assert engine.request.paths == (path,)
        assert (project / "coldfork-baseline.json").exists()
    assert source.read_text(encoding="utf-8") == "import torch\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"schema_version": 1, "profile": "cuda", "findings": [1]}',
        b'{"schema_version": 1, "profile": "cuda", "findings": {"a": {"rule": 3}}}',
        b'{"schema_version": 99, "profile": "cuda", "findings": {}}',
    ],
)
def test_a_damaged_baseline_is_refused_and_kept(run: Run, project: Path, engine: Any, content: bytes) -> None:
    file = project / "coldfork-baseline.json"
    file.write_bytes(content)
    for arguments in (["check", "--baseline", file.name], ["baseline", "show"], ["baseline", "prune"]):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (2, ""), arguments
        assert result.stderr.startswith("coldfork: coldfork-baseline.json: ")
        assert result.stderr.count("\n") == 1
    if content:
        assert run("baseline", "write").exit_code == 2
        assert file.read_bytes() == content


def test_damage_is_described(run: Run, project: Path, engine: Any) -> None:
    file = project / "coldfork-baseline.json"
    file.write_text(
        '{"schema_version": 1, "profile": "cuda", "findings": {"a": {"rule": 3}}}', encoding="utf-8"
    )
    assert run("baseline", "show").stderr == snapshot(
        "coldfork: coldfork-baseline.json: this is not a baseline of coldfork: Expected `str`, got `int` - "
        "at `$.findings[...].rule`; restore it, or remove it and write a new one\n"
    )
    file.write_text('{"schema_version": 9, "profile": "cuda", "findings": {}}', encoding="utf-8")
    assert run("baseline", "show").stderr == snapshot(
        "coldfork: coldfork-baseline.json: a baseline of format 9; this coldfork reads 1\n"
    )


def test_a_missing_baseline_says_how_to_make_it(run: Run, engine: Any) -> None:
    result = run("check", "--baseline", "known.json")
    assert result.exit_code == 2
    assert result.stderr == snapshot(
        "coldfork: known.json: no such baseline; `coldfork baseline write known.json` makes it\n"
    )
