"""`coldfork check --changed-since`: real repositories, and which findings a change leaves in the list."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]
WAKE = "import torch\ntorch.cuda.get_device_name()\n"

pytestmark = [pytest.mark.once, pytest.mark.skipif(shutil.which("git") is None, reason="no git")]


class Repository:
    """A project of modules that wake the device, in git."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.folder = folder
        self._run = run

    def write(self, **modules: str) -> None:
        """Write modules of `engine`."""
        for name, text in modules.items():
            file = self.folder / "src/engine" / f"{name}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(self.folder), *arguments], check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "all")

    def check(self, *arguments: str) -> dict[str, Any]:
        """The JSON of a check of what changed since HEAD."""
        result = self._run("check", "--changed-since", "HEAD", "--format", "json", *arguments)
        assert result.exit_code in (0, 1), result.output
        assert result.stderr == ""
        document: dict[str, Any] = json.loads(result.stdout)
        return document

    def found(self, *arguments: str) -> set[str]:
        """The modules with findings."""
        return {finding["module"] for finding in self.check(*arguments)["findings"]}


@pytest.fixture
def repository(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """`engine` in a repository: four modules, no package beside, and the cache left alone by git."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@b")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    (project / "nothing").mkdir()
    (project / ".gitignore").write_text("cache\n", encoding="utf-8")
    (project / "pyproject.toml").write_text(
        '[tool.coldfork]\nsite-packages = ["nothing"]\n', encoding="utf-8"
    )
    made = Repository(project, run)
    made.git("init", "--quiet")
    made.write(
        core="X = 1\n",
        above=f"from engine.core import X\n{WAKE}",
        top=f"from engine import above\n{WAKE}",
        alone=WAKE,
    )
    made.commit()
    return made


def test_nothing_changed_and_nothing_is_listed(repository: Repository, run: Run) -> None:
    assert repository.check()["changed"] == {
        "since": "HEAD",
        "files": [],
        "affected": 0,
        "modules": 5,
        "left_out": 3,
        "everything": None,
    }
    text = run("check", "--changed-since", "HEAD").stdout
    assert "\nno Python file changed since HEAD; 3 findings in the others left out\n" in text


@pytest.mark.parametrize("cached", [True, False])
def test_a_change_affects_what_imports_it_directly_or_through_others(
    repository: Repository, run: Run, cached: bool
) -> None:
    arguments = () if cached else ("--no-cache",)
    assert repository.found(*arguments) == set()
    repository.write(core="X = 2\n")
    assert repository.found(*arguments) == {"engine.above", "engine.top"}
    assert repository.found(*arguments) == {"engine.above", "engine.top"}, "the answer that was remembered"
    text = run("check", "--changed-since", "HEAD", *arguments).stdout
    assert "\n1 Python file changed since HEAD, which can affect 3 of 5 modules; " in text
    assert "; 1 finding in the others left out\n" in text


def test_what_only_a_called_function_imports_counts(repository: Repository) -> None:
    repository.write(
        lazy=f"def load():\n    from engine import core\n    return core\nload()\n{WAKE}",
        never=f"def load():\n    from engine import core\n    return core\n{WAKE}",
    )
    repository.commit()
    repository.write(core="X = 2\n")
    assert repository.found() == {"engine.above", "engine.top", "engine.lazy"}


def test_a_package_affects_its_modules(repository: Repository) -> None:
    repository.write(**{"sub/__init__": "", "sub/inner": WAKE})
    repository.commit()
    repository.write(**{"sub/__init__": "Y = 1\n"})
    assert repository.found() == {"engine.sub.inner"}
    repository.write(__init__="Z = 1\n")
    assert repository.found() == {"engine.above", "engine.top", "engine.alone", "engine.sub.inner"}


def test_a_file_that_is_new_or_gone_affects_who_looks_for_it(repository: Repository) -> None:
    repository.write(hopeful=f"try:\n    import engine.extra\nexcept ImportError:\n    pass\n{WAKE}")
    repository.commit()
    repository.write(extra="E = 1\n")
    assert repository.found() == {"engine.hopeful"}
    repository.commit()
    (repository.folder / "src/engine/extra.py").unlink()
    assert repository.found() == {"engine.hopeful"}
    assert repository.check()["changed"]["files"] == ["src/engine/extra.py"]


def test_a_file_that_was_renamed_affects_those_of_the_old_name_and_of_the_new(repository: Repository) -> None:
    repository.write(waiting=f"try:\n    import engine.center\nexcept ImportError:\n    pass\n{WAKE}")
    repository.commit()
    repository.git("mv", "src/engine/core.py", "src/engine/center.py")
    assert repository.found() == {"engine.above", "engine.top", "engine.waiting"}


def test_a_new_module_that_hides_a_library_affects_who_imports_the_library(repository: Repository) -> None:
    (repository.folder / "src/torch.py").write_text(
        "class cuda:\n    get_device_name = int\n", encoding="utf-8"
    )
    document = repository.check()
    assert document["findings"] == []
    assert document["changed"]["affected"] == 4, "and torch itself, which is checked now"


def test_the_paths_may_leave_out_what_changed(repository: Repository) -> None:
    repository.write(core="X = 2\n")
    assert repository.found("src/engine/top.py") == {"engine.top"}
    assert repository.found("src/engine/alone.py") == set()


def test_only_what_is_listed_fails_the_check(repository: Repository, run: Run) -> None:
    assert run("check", "--changed-since", "HEAD").exit_code == 0
    repository.write(core="X = 2\n")
    assert run("check", "--changed-since", "HEAD").exit_code == 1


def test_plain_files_and_links_are_known_by_where_they_lie(repository: Repository) -> None:
    scripts = repository.folder / "scripts-of-ours"
    scripts.mkdir()
    (scripts / "one-two.py").write_text(WAKE, encoding="utf-8")
    (scripts / "other.py").write_text(WAKE, encoding="utf-8")
    repository.commit()
    (scripts / "one-two.py").write_text(f"{WAKE}#\n", encoding="utf-8")
    (finding,) = repository.check("scripts-of-ours")["findings"]
    assert finding["path"] == "one-two.py"
    link = repository.folder / "cache/link"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(scripts)
    (finding,) = repository.check("cache/link")["findings"]
    assert finding["path"] == "one-two.py"
    repository.commit()
    (scripts / "one-two.py").unlink()
    (scripts / "one-two.py").symlink_to("other.py")
    assert {finding["path"] for finding in repository.check("scripts-of-ours/one-two.py")["findings"]} == {
        "scripts-of-ours/one-two.py"
    }


def test_a_module_that_is_a_link_changes_with_its_target_or_to_another(repository: Repository) -> None:
    shared = repository.folder / "shared"
    shared.mkdir()
    for name in ("one.py", "two.py"):
        (shared / name).write_text(WAKE, encoding="utf-8")
    link = repository.folder / "src/engine/linked.py"
    link.symlink_to("../../shared/one.py")
    repository.commit()
    (shared / "one.py").write_text(f"{WAKE}#\n", encoding="utf-8")
    assert repository.found() == {"engine.linked"}
    repository.commit()
    link.unlink()
    link.symlink_to("../../shared/two.py")
    assert repository.found() == {"engine.linked"}


def test_another_configuration_concerns_everything(repository: Repository, run: Run) -> None:
    pyproject = repository.folder / "pyproject.toml"
    pyproject.write_text(f'[project]\nversion = "2"\n{pyproject.read_text()}', encoding="utf-8")
    assert repository.found() == set(), "it says the same about coldfork"
    pyproject.write_text(f"{pyproject.read_text()}jobs = 1\n", encoding="utf-8")
    assert repository.found() == {"engine.above", "engine.top", "engine.alone"}
    changed = repository.check()["changed"]
    assert (changed["everything"], changed["affected"]) == ("[tool.coldfork] in pyproject.toml", 5)
    said = "\n[tool.coldfork] in pyproject.toml changed since HEAD, which affects every module\n"
    assert said in run("check", "--changed-since", "HEAD").stdout


def test_a_configuration_in_a_folder_below_is_the_one_that_counts(repository: Repository) -> None:
    inner = repository.folder / "src/pyproject.toml"
    inner.write_text('[tool.coldfork]\nsite-packages = ["../nothing"]\n', encoding="utf-8")
    assert len(repository.found()) == 3, "it is new"
    repository.commit()
    assert repository.found() == set()
    outer = repository.folder / "pyproject.toml"
    outer.write_text("[tool.coldfork]\njobs = 1\n", encoding="utf-8")
    assert repository.found() == set()
    inner.unlink()
    assert len(repository.found("--site-packages", "nothing")) == 3, "the outer one holds from now on"


def test_another_baseline_concerns_everything_and_what_is_gone_is_known(
    repository: Repository, run: Run
) -> None:
    assert run("baseline", "write").exit_code == 0
    repository.commit()
    baselined = ("--baseline", "coldfork-baseline.json")
    repository.write(core="X = 2\n", alone="import torch\n", fresh=f"import engine.core\n{WAKE}")
    result = run("check", "--changed-since", "HEAD", *baselined)
    assert "2 known to the baseline; 1 in the baseline and gone" in " ".join(result.stdout.split())
    assert repository.found(*baselined) == {"engine.fresh"}
    (repository.folder / "coldfork-baseline.json").write_text(
        '{"schema_version": 1, "profile": "cuda", "findings": {}}', encoding="utf-8"
    )
    assert repository.found(*baselined) == {"engine.above", "engine.top", "engine.fresh"}
    assert repository.check(*baselined)["changed"]["everything"] == "coldfork-baseline.json"


def test_files_that_nothing_can_have_changed_for_are_not_listed_as_unread(repository: Repository) -> None:
    repository.write(broken="def (:\n")
    repository.commit()
    assert repository.check()["skipped"] == []
    repository.write(broken="def (:\n#\n")
    assert [file["path"] for file in repository.check()["skipped"]] == ["engine/broken.py"]


def test_sarif_says_what_was_looked_at(repository: Repository, run: Run) -> None:
    repository.write(core="X = 2\n")
    log = json.loads(run("check", "--changed-since", "HEAD", "--format", "sarif").stdout)
    (invocation,) = log["runs"][0]["invocations"]
    said = [notification["message"]["text"] for notification in invocation["toolExecutionNotifications"]]
    assert said[0].startswith("1 Python file changed since HEAD, which can affect 3 of 5 modules")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--changed-since", "nowhere"), "git knows no commit 'nowhere' in "),
        (("--changed-since", "HEAD", "../elsewhere"), "../elsewhere is not in a git checkout"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(
    repository: Repository, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    elsewhere = repository.folder.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    result = run("check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"coldfork: --changed-since: {said}")
    assert result.stderr.count("\n") == 1


def test_an_empty_revision_is_none(repository: Repository, run: Run) -> None:
    result = run("check", "--changed-since", "", "--format", "json")
    assert json.loads(result.stdout)["changed"] is None
