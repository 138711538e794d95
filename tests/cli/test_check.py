"""`coldfork check`: exit status, formats, where the result goes, and what is said beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from inline_snapshot import snapshot

from coldfork.model.effects import Verdict
from coldfork.model.observations import IgnoreComment, Unreadable
from coldfork.report.formats import FORMATS

Run = Callable[..., Result]
Configure = Callable[[str], Path]


@pytest.mark.parametrize(
    ("verdict", "bar", "status"),
    [
        (Verdict.CERTAIN, "certain", 1),
        (Verdict.CERTAIN, "conditional", 1),
        (Verdict.CERTAIN, "possible", 1),
        (Verdict.CONDITIONAL, "certain", 0),
        (Verdict.CONDITIONAL, "conditional", 1),
        (Verdict.POSSIBLE, "conditional", 0),
        (Verdict.POSSIBLE, "possible", 1),
    ],
)
def test_fail_on_is_the_bar(
    run: Run, engine: Any, effect: Any, verdict: Verdict, bar: str, status: int
) -> None:
    engine.sees(effect(verdict=verdict))
    assert run("check", "--fail-on", bar).exit_code == status
    assert run("check", "--fail-on", bar, "--exit-zero").exit_code == 0


def test_the_default_bar_is_conditional(run: Run, engine: Any, effect: Any) -> None:
    engine.sees(effect(verdict=Verdict.CONDITIONAL))
    assert run("check").exit_code == 1
    engine.sees(effect(verdict=Verdict.POSSIBLE))
    assert run("check").exit_code == 0


def test_nothing_found_is_said_and_is_0(run: Run, engine: Any) -> None:
    result = run("check")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("no finding on cuda")


def test_text_names_the_line_the_chain_and_the_next_command(run: Run, engine: Any, effect: Any) -> None:
    engine.sees(effect())
    result = run("check")
    assert result.stderr == ""
    assert "error[device-init-at-import] importing engine.core wakes cuda" in result.stdout
    assert "src/engine/core.py:7" in result.stdout
    assert "coldfork rule device-init-at-import" in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("form", FORMATS["finding"])
def test_every_format_is_written_to_stdout_and_to_a_file(
    run: Run, project: Path, engine: Any, effect: Any, form: str
) -> None:
    engine.sees(effect())
    printed = run("check", "--format", form)
    assert (printed.exit_code, printed.stderr) == (1, "")
    assert "core.py" in printed.stdout
    saved = run("check", "--format", form, "--output", "result.out")
    assert (saved.exit_code, saved.stdout) == (1, "")
    assert saved.stderr == "coldfork: wrote 1 cause to result.out\n"
    assert (project / "result.out").read_text(encoding="utf-8") == printed.stdout


@pytest.mark.parametrize("form", FORMATS["finding"])
def test_findings_without_a_chain_can_be_rendered(run: Run, engine: Any, form: str) -> None:
    engine.ignores = (IgnoreComment("engine/core.py", 7, 40, ("waking-import",), "", (7, 7)),)
    engine.unreadable = (Unreadable("engine/old.py", 3, 0, "Python 2"),)
    result = run("check", "--format", form)
    assert (result.exit_code, result.stderr) == (1, "")
    assert "unused-ignore" in result.stdout
    assert "unreadable-source" in result.stdout


def test_json_is_the_documented_object(run: Run, engine: Any, effect: Any) -> None:
    engine.sees(effect())
    document = json.loads(run("check", "--format", "json").stdout)
    (finding,) = document["findings"]
    assert (document["schema_version"], document["profile"]) == (1, "cuda")
    assert (finding["path"], finding["line"], finding["rule"]) == (
        "engine/core.py",
        7,
        "device-init-at-import",
    )
    assert len(finding["id"]) == 20


def test_sarif_carries_the_rules_pages(run: Run, engine: Any, effect: Any) -> None:
    engine.sees(effect())
    written = json.loads(run("check", "--format", "sarif", "--rules", "device-init-at-import").stdout)
    (rule,) = written["runs"][0]["tool"]["driver"]["rules"]
    assert rule["id"] == "device-init-at-import"
    assert "Why is this bad" in json.dumps(rule)


@pytest.mark.parametrize(
    ("arguments", "environment", "coloured"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--color", "always", "--format", "json"), {}, False),
        (("--color", "always", "--output", "out.txt"), {}, False),
    ],
)
def test_colour_is_for_who_looks(
    run: Run,
    project: Path,
    engine: Any,
    effect: Any,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    coloured: bool,
) -> None:
    engine.sees(effect())
    result = run("check", *arguments, env=environment)
    saved = project / "out.txt"
    text = result.stdout + (saved.read_text(encoding="utf-8") if saved.exists() else "")
    assert "core.py" in text
    assert ("\x1b[" in text) == coloured


def test_statistics_follow_text_and_stay_out_of_json(run: Run, engine: Any, effect: Any) -> None:
    engine.sees(effect())
    text = run("check", "--statistics")
    assert "modules    3 (3 yours)" in text.stdout
    machine = run("check", "--statistics", "--format", "json")
    json.loads(machine.stdout)
    assert "modules    3 (3 yours)" in machine.stderr
    saved = run("check", "--statistics", "--format", "json", "--output", "out.json")
    assert "modules    3 (3 yours)" in saved.stdout


def test_a_missing_path_is_named_and_the_others_are_checked(run: Run, engine: Any, effect: Any) -> None:
    engine.sees(effect())
    result = run("check", "src", "nowhere", "--format", "json")
    assert result.exit_code == 2
    assert engine.request.paths == (Path("src"),)
    document = json.loads(result.stdout)
    assert len(document["findings"]) == 1
    assert [(file["path"], file["reason"]) for file in document["skipped"]] == [
        ("nowhere", "no such file or folder")
    ]
    assert result.stderr == snapshot(
        "coldfork: nowhere: no such file or folder; the other paths were checked\n"
    )


def test_nothing_but_missing_paths_is_a_usage_error(run: Run, engine: Any) -> None:
    result = run("check", "nowhere", "neither")
    assert (result.exit_code, result.stdout, engine.requests) == (2, "", [])
    assert result.stderr == snapshot(
        "coldfork: nowhere: no such file or folder; neither: no such file or folder\n"
    )


def test_a_folder_without_python_is_no_error_and_is_said(run: Run, project: Path, engine: Any) -> None:
    engine.modules = 0
    result = run("check", "src")
    assert result.exit_code == 0
    assert "no Python" in result.stdout + result.stderr


def test_unreadable_files_are_findings_and_skipped(run: Run, engine: Any) -> None:
    engine.unreadable = (
        Unreadable("engine/old.py", 3, 0, "Python 2"),
        Unreadable("torch/x.py", 1, 0, "NUL byte", own=False),
    )
    result = run("check", "--format", "json")
    document = json.loads(result.stdout)
    assert [(finding["rule"], finding["severity"]) for finding in document["findings"]] == [
        ("unreadable-source", "warning")
    ]
    assert [(file["path"], file["reason"]) for file in document["skipped"]] == [
        ("engine/old.py", "Python 2"),
        ("torch/x.py", "NUL byte"),
    ]
    assert result.exit_code == 0
    assert run("check", "--fail-on", "possible").exit_code == 1


def test_ignored_findings_are_counted(run: Run, engine: Any, effect: Any) -> None:
    engine.sees(effect())
    engine.ignores = (IgnoreComment("engine/core.py", 7, 40, (), "a script", (7, 7)),)
    result = run("check")
    assert result.exit_code == 0
    assert "1 ignored by comment" in result.stdout


def test_exclude_and_per_file_ignores_drop_findings(
    run: Run, configure: Configure, engine: Any, effect: Any, project: Path
) -> None:
    engine.sees(effect(), effect(path="engine/vendored/x.py", module="engine.vendored.x"))
    vendored = project / "src" / "engine" / "vendored"
    vendored.mkdir()
    (vendored / "x.py").write_text("", encoding="utf-8")

    def count() -> int:
        return len(json.loads(run("check", "--format", "json").stdout)["findings"])

    assert count() == 2
    configure('exclude = ["vendored/"]\n')
    assert count() == 1
    configure('exclude = ["/src/engine/vendored/*.py"]\n')
    assert count() == 1
    configure('[tool.coldfork.per-file-ignores]\n"src/engine/core.py" = ["device-init-at-import"]\n')
    assert count() == 1
    configure('[tool.coldfork.per-file-ignores]\n"src/engine/core.py" = ["waking-import"]\n')
    assert count() == 2
    configure(
        'exclude = ["engine/**"]\n[tool.coldfork.per-file-ignores]\n"*.py" = ["device-init-at-import"]\n'
    )
    assert count() == 0


def test_a_broken_configuration_stops_everything(run: Run, configure: Configure, engine: Any) -> None:
    file = configure("jbos = 3\n")
    result = run("check")
    assert (result.exit_code, result.stdout, engine.requests) == (2, "", [])
    assert result.stderr == f"coldfork: {file}: [tool.coldfork] has no key 'jbos'; did you mean jobs?\n"


def test_an_output_file_that_cannot_be_written(run: Run, project: Path, engine: Any) -> None:
    result = run("check", "--output", "no/such/folder/out.json")
    assert result.exit_code == 2
    assert result.stderr == snapshot(
        "coldfork: cannot write no/such/folder/out.json: No such file or directory\n"
    )
    assert run("check", "--output", "src").exit_code == 2
    assert sorted(path.name for path in project.iterdir()) == ["cache", "src"]
