"""Who is heard first: flags, then the environment, then the configuration, then defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from inline_snapshot import snapshot

from coldfork.model.effects import DEFAULT_PROFILE
from coldfork.rules.registry import NAMES

Run = Callable[..., Result]
Configure = Callable[[str], Path]


def test_the_order_of_the_voices(run: Run, configure: Configure, engine: Any) -> None:
    assert run("check").exit_code == 0
    assert engine.request.profile.name == DEFAULT_PROFILE
    configure('profile = "rocm"\n')
    run("check")
    assert engine.request.profile.name == "rocm"
    run("check", env={"COLDFORK_PROFILE": "xpu"})
    assert engine.request.profile.name == "xpu"
    run("check", "--profile", "cpu", env={"COLDFORK_PROFILE": "xpu"})
    assert engine.request.profile.name == "cpu"


def test_assume_is_profile(run: Run, engine: Any) -> None:
    run("check", "--assume", "jax-gpu")
    assert engine.request.profile.name == "jax-gpu"


def test_defaults(run: Run, project: Path, engine: Any) -> None:
    run("check")
    request = engine.request
    assert request.paths == (Path("src"),)
    assert (request.entries, request.target_version, request.jobs) == ((), (3, 13), 0)
    assert request.cache == project / "cache"


def test_without_src_the_current_folder_is_checked(
    run: Run, project: Path, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "src")
    run("check")
    assert engine.request.paths == (Path(),)


def test_everything_reaches_the_engine(run: Run, project: Path, engine: Any) -> None:
    folder = project / "deps"
    folder.mkdir()
    arguments = ["--entry", "engine.api", "--entry", "engine.cli,engine.web", "--site-packages", str(folder)]
    result = run("check", "src/engine", *arguments, "--target-version", "3.14", "--jobs", "2", "--no-cache")
    assert result.exit_code == 0
    request = engine.request
    assert request.paths == (Path("src/engine"),)
    assert request.entries == ("engine.api", "engine.cli", "engine.web")
    assert request.search[0] == folder
    assert (request.target_version, request.jobs, request.cache) == ((3, 14), 2, None)


def test_a_flag_of_the_configuration_can_be_taken_back(run: Run, configure: Configure, engine: Any) -> None:
    configure("no-cache = true\n")
    run("check")
    run("check", "--cache")
    run("check", env={"COLDFORK_NO_CACHE": "0"})
    run("check", env={"COLDFORK_NO_CACHE": "1"})
    assert [request.cache is None for request in engine.requests] == [True, False, False, True]


def test_an_interpreter_is_looked_at_and_not_run(run: Run, project: Path, engine: Any) -> None:
    folder = project / "env" / "lib" / "python3.12" / "site-packages"
    folder.mkdir(parents=True)
    interpreter = project / "env" / "bin" / "python"
    interpreter.parent.mkdir()
    interpreter.write_text("this does not run", encoding="utf-8")
    assert run("check", "--python", str(interpreter)).exit_code == 0
    assert folder in engine.request.search
    assert run("check", "--python", "missing/bin/python").exit_code == 2


def test_rules_and_ignore_choose(run: Run, engine: Any, effect: Any) -> None:
    engine.sees(effect())
    assert run("check", "--rules", "device-init-at-import,waking-import").exit_code == 1
    assert run("check", "--rules", "waking-import").exit_code == 0
    assert run("check", "--ignore", "device-init-at-import").exit_code == 0
    assert run("check", env={"COLDFORK_IGNORE": "eager-reexport device-init-at-import"}).exit_code == 0
    assert run("check", "--ignore", ",".join(NAMES)).exit_code == 0


def test_the_variable_of_the_checkout_script_means_nothing_here(run: Run, engine: Any) -> None:
    assert run("check", env={"COLDFORK_PYTHON": "python3.13"}).exit_code == 0
    assert run("check", env={"COLDFORK_TARGET_PYTHON": "missing/python"}).exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rules", "wakingimport"),
        ("--ignore", "xxx"),
        ("--target-version", "2.7"),
        ("--target-version", "3"),
        ("--jobs", "-1"),
        ("--jobs", "many"),
        ("--profile", "cuda12"),
        ("--fail-on", "never"),
        ("--format", "xml"),
        ("--site-packages", "missing"),
    ],
)
def test_a_value_that_means_nothing_is_refused(run: Run, engine: Any, arguments: tuple[str, str]) -> None:
    result = run("check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert arguments[0] in result.stderr
    assert engine.requests == []


def test_refusals_teach(run: Run, engine: Any) -> None:
    assert run("check", "--rules", "wakingimport").stderr == snapshot(
        "coldfork: --rules: there is no rule 'wakingimport'; did you mean waking-import?\n"
    )
    assert run("check", "--target-version", "2.7").stderr == snapshot(
        "coldfork: --target-version: '2.7' is not a version of Python 3; write 3.13, for example\n"
    )
    assert run("check", env={"COLDFORK_IGNORE": "xxx"}).stderr == snapshot(
        "coldfork: COLDFORK_IGNORE: there is no rule 'xxx'; `coldfork rule` lists them all\n"
    )
