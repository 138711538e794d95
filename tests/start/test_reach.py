"""The wakes of a target's module: asked of the real `coldfork check`, kept, and never imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from coldfork.model.errors import UsageError
from coldfork.start.static_reach import cache, check_process
from coldfork.start.static_reach.answers import Place, ReachAnswer, Reached
from coldfork.start.static_reach.cache import KeptAnswer
from coldfork.start.static_reach.check_process import judged
from coldfork.start.static_reach.reach import StaticReach, located
from coldfork.start.targets import Target, target_of
from tests.start.test_decide import run

pytestmark = pytest.mark.once

FILES = {
    "application/__init__.py": "",
    "application/through.py": "from application import devices\n\n\ndef work():\n    pass\n",
    "application/devices.py": "import torch\n\n\nclass Backend:\n    device = torch.cuda.current_device()\n",
    "application/cold.py": "import torch\n\n\ndef work():\n    return torch.cuda.current_device()\n",
    "script.py": "from application import devices\n",
    "my-script.py": "",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a package that wakes a device in some places, and a cache folder of its own."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "packages").mkdir()
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(tmp_path / "kept" / "cache"))
    root = tmp_path / "root"
    for name, source in FILES.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(source, encoding="utf-8")
    return root


def search(folder: Path) -> list[str]:
    """Where modules are found: not in this environment, whose PyTorch takes seconds to follow."""
    return [str(folder), str(folder.parent / "packages")]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count the modules that another process is asked about."""
    asked: list[str] = []
    ask = check_process.ask

    def counting(place: Place, search: list[str], deadline: float) -> ReachAnswer:
        asked.append(place.module)
        return ask(place, search, deadline)

    monkeypatch.setattr(check_process, "ask", counting)
    return asked


def later(path: Path) -> None:
    """Change a file so that its time changes too, on any file system."""
    path.write_text(path.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    os.utime(path, (time.time() + 10, time.time() + 10))


@pytest.mark.must_hold
def test_a_module_that_wakes_a_device_through_another_is_named_with_the_line(folder: Path) -> None:
    answer = StaticReach(120, search(folder))(Target("application.through", "work"))
    assert answer == ReachAnswer(
        "application.through", Reached.WAKES, None, "cuda", "certain", "application/devices.py", 5
    )
    assert not [name for name in sys.modules if name.startswith("application")]


def test_a_module_that_only_a_call_would_wake_reaches_nothing(folder: Path) -> None:
    answer = StaticReach(120, search(folder))(Target("application.cold", "work"))
    assert answer == ReachAnswer("application.cold", Reached.NOTHING)


def test_an_answer_is_kept_until_something_beside_the_module_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = counted(monkeypatch)
    folders = search(folder)
    target = Target("application.through", "work")
    first = StaticReach(120, folders)(target)
    # Another program of the same kind finds the answer.
    assert StaticReach(120, folders)(target) == first
    assert asked == ["application.through"]
    later(folder / "application" / "devices.py")
    assert StaticReach(120, folders)(target) == first
    assert len(asked) == 2
    # Something was installed.
    (folder.parent / "packages" / "package-1.0.dist-info").mkdir()
    os.utime(folder.parent / "packages", (time.time() + 10, time.time() + 10))
    assert StaticReach(120, folders)(target) == first
    assert len(asked) == 3
    assert StaticReach(120, [*folders, str(folder / "application")])(target) == first
    assert len(asked) == 4


def test_an_answer_about_an_installed_package_is_kept_until_it_is_installed_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = counted(monkeypatch)
    site = folder.parent / "site-packages"
    folder.rename(site)
    folders = [str(site), str(folder.parent / "packages")]
    target = Target("application.cold", "work")
    for _ in range(2):
        assert StaticReach(120, folders)(target).reached is Reached.NOTHING
    assert len(asked) == 1
    later(site / "application" / "cold.py")
    StaticReach(120, folders)(target)
    assert len(asked) == 2
    later(site / "application" / "__init__.py")
    StaticReach(120, folders)(target)
    assert len(asked) == 3
    os.utime(site, (time.time() + 10, time.time() + 10))
    StaticReach(120, folders)(target)
    assert len(asked) == 4


def test_what_is_too_large_to_be_looked_through_is_asked_once_in_a_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = counted(monkeypatch)
    monkeypatch.setattr(cache, "_MOST_FILES", 2)
    reach = StaticReach(120, search(folder))
    for _ in range(2):
        assert reach(Target("application.cold")).reached is Reached.NOTHING
    assert len(asked) == 1
    assert StaticReach(120, search(folder))(Target("application.cold")).reached is Reached.NOTHING
    assert len(asked) == 2


def test_an_answer_that_was_damaged_is_asked_for_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, folders = Place("application.cold", str(folder), str(folder / "application")), search(folder)
    kept = KeptAnswer.of(place, folders)
    assert kept.read() is None
    kept.write(ReachAnswer("application.cold", Reached.NOTHING))
    assert KeptAnswer.of(place, folders).read() == ReachAnswer("application.cold", Reached.NOTHING)
    (file,) = (folder.parent / "kept" / "cache" / "reach").iterdir()
    whole = file.read_text(encoding="utf-8")
    for damaged in ("", whole[:-5], "[]", "{}", json.dumps({**json.loads(whole), "answer": {"other": 1}})):
        file.write_text(damaged, encoding="utf-8")
        assert KeptAnswer.of(place, folders).read() is None


def test_where_nothing_can_be_kept_the_answer_is_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = folder.parent / "blocked"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(blocked))
    answer = StaticReach(120, search(folder))(Target("application.cold"))
    assert answer.reached is Reached.NOTHING


def test_a_check_that_takes_too_long_is_unknown_and_its_processes_are_gone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = counted(monkeypatch)
    started: list[subprocess.Popen[bytes]] = []

    class Started(subprocess.Popen[bytes]):
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Started)
    reach = StaticReach(0.01, search(folder))
    answer = reach(Target("application.through"))
    assert answer == ReachAnswer.unknown("application.through", "the check took longer than 0.01 s")
    (process,) = started
    with pytest.raises(ChildProcessError):  # it was waited for, and nobody has to
        os.waitpid(process.pid, os.WNOHANG)
    # Neither this process nor another one waits for it again, for some minutes.
    assert reach(Target("application.through")) == answer
    assert StaticReach(120, search(folder))(Target("application.through")) == answer
    assert len(asked) == 1
    monkeypatch.setattr(cache, "time", lambda: time.time() + 601)
    assert StaticReach(120, search(folder))(Target("application.through")).reached is Reached.WAKES


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (Target("missing.module"), "there is no module missing on sys.path"),
        (Target("application.missing"), "the check failed: "),
        (Target("__main__", "work", "my-script.py"), "my-script.py cannot be a module's name"),
        (Target("__main__", "work", "/usr/bin/pytest"), "pytest cannot be a module's name"),
        (Target("__main__", "work"), "it was defined interactively and is in no file"),
    ],
)
def test_what_cannot_be_told_is_unknown_and_says_why(
    folder: Path, monkeypatch: pytest.MonkeyPatch, target: Target, reason: str
) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    answer = StaticReach(120, search(folder))(target)
    assert answer.reached is Reached.UNKNOWN
    assert answer.reason is not None
    assert answer.reason.startswith(reason)


def test_an_interpreter_without_a_command_is_a_reason(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    answer = StaticReach(120, search(folder))(Target("application.cold"))
    assert answer.reason == "the path of this interpreter is unknown, so it cannot be started"


def test_the_standard_library_reaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(monkeypatch)
    assert StaticReach()(Target("time", "sleep")).reached is Reached.NOTHING
    assert asked == []


def test_a_script_is_found_by_its_file_and_a_module_run_as_one_by_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = sys.modules["__main__"]
    script = Target("__main__", "work", str(folder / "script.py"))
    monkeypatch.setattr(main, "__spec__", None)
    assert located(script, search(folder)) == Place("script", str(folder), str(folder))
    assert StaticReach(120, search(folder))(script).line == 5
    named = type(sys)("named")
    named.name = "application.cold"  # type: ignore[attr-defined]
    monkeypatch.setattr(main, "__spec__", named)
    package = str(folder / "application")
    assert located(script, search(folder)) == Place("application.cold", str(folder), package)


def test_a_project_that_accepts_its_findings_does_not_silence_the_answer(folder: Path) -> None:
    accepted = (
        'rules = ["eager-reexport"]\nbaseline = "accepted.json"\noutput = "report.json"\nconfirm = true\n'
    )
    (folder / "pyproject.toml").write_text(f"[tool.coldfork]\n{accepted}", encoding="utf-8")
    answer = StaticReach(120, search(folder))(Target("application.through"))
    assert answer.reached is Reached.WAKES


def test_the_surest_line_that_wakes_is_the_answer() -> None:
    def finding(effect: str, verdict: str, line: int) -> dict[str, object]:
        return {
            "effect": effect,
            "verdict": verdict,
            "condition": None,
            "accelerator": "cuda",
            "path": "a.py",
            "line": line,
        }

    loads = finding("loads-driver", "certain", 1)
    queries = finding("queries-device", "certain", 2)
    possible = finding("creates-context", "possible", 3)
    certain = finding("initialises-driver", "certain", 4)
    assert judged("a", [loads], 0).reached is Reached.NOTHING
    assert judged("a", [loads], 2).reason == "2 of the files it imports could not be read"
    long = [{"path": "a/tables.py", "line": 7}]
    assert judged("a", [loads], 0, long).reason == "following what it runs takes too long, at a/tables.py:7"
    assert judged("a", [certain], 0, long).line == 4
    assert judged("a", [loads, queries], 0).line == 2
    assert judged("a", [queries, possible], 0).line == 3
    assert judged("a", [queries, possible, certain], 0).line == 4


@pytest.mark.parametrize(
    ("platform", "caches"),
    [
        ("linux", ".cache/coldfork"),
        ("darwin", "Library/Caches/coldfork"),
        ("win32", None),
    ],
)
def test_answers_lie_in_the_users_cache(
    platform: str, caches: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("COLDFORK_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    kept = KeptAnswer.of(Place("a", str(tmp_path), str(tmp_path / "a.py")), [])
    assert kept.possible is (caches is not None)
    kept.write(ReachAnswer("a", Reached.NOTHING))
    if caches is not None:
        assert [file.suffix for file in (tmp_path / caches / "reach").iterdir()] == [".json"]


class Callable:
    def __call__(self) -> None: ...

    def method(self) -> None: ...


def test_targets_of_all_kinds() -> None:
    from functools import partial

    here = __name__
    assert target_of(None) is None
    assert target_of("package.module:function") == Target("package.module", "function")
    assert target_of("json") == Target("json", None, json.__file__)
    assert target_of(json) == Target("json", None, json.__file__)
    assert target_of(json.dumps) == Target("json", "dumps", json.__file__)
    assert target_of(partial(partial(later), 1)) == Target(here, "later", __file__)
    assert target_of(Callable().method) == Target(here, "Callable.method", __file__)
    assert target_of(Callable()) == Target(here, "Callable", __file__)
    assert target_of(Callable) == Target(here, "Callable", __file__)
    local = target_of(lambda: None)
    assert local is not None
    assert local.cannot_be_pickled
    for nonsense in ("no module", "", ":function", 3, "a-b"):
        with pytest.raises(UsageError, match="is not a target: give a callable"):
            target_of(nonsense)


@pytest.mark.must_hold
@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_a_target_that_would_wake_a_device_is_spawned_and_is_not_imported_for_it(folder: Path) -> None:
    said = run(
        f"""
        sys.path.insert(0, {str(folder)!r})
        from coldfork.start.static_reach.reach import StaticReach
        reach = StaticReach(120, {search(folder)!r})
        told["warm"] = decided(target="application.through:work", reach=reach)
        told["line"] = coldfork.decide("application.through:work", reach=reach).line()
        told["cold"] = decided(target="application.cold:work", reach=reach)
        told["imported"] = [name for name in sys.modules if name.startswith("application")]
        """,
        COLDFORK_CACHE_DIR=str(folder.parent / "kept" / "cache"),
    )
    assert said == {
        "warm": ["spawn", ["target-wakes-device"]],
        "line": (
            "spawn for application.through, because importing application.through wakes cuda "
            "(application/devices.py:5), certain"
        ),
        "cold": ["fork", []],
        "imported": [],
    }
