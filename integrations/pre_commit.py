"""The hooks of this repository, as pre-commit installs and runs them: `./dev integration pre_commit`"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from integrations.environment import Ended, Environment
from integrations.transcript import Transcript, main
from published.errors import UnavailableError
from published.places import ROOT

ENVIRONMENT = Environment("pre_commit", ("pre-commit==4.7.0",))
ENGINE = "import torch\n\nNAME = torch.cuda.get_device_name()\n"
CONFIGURATION = """\
repos:
  - repo: {clone}
    rev: {revision}
    hooks:
      - id: coldfork
        args: [src/, --baseline, coldfork-baseline.json]
      - id: coldfork-all
        args: [src/, --baseline, coldfork-baseline.json]
        stages: [pre-push]
"""

INTRODUCTION = """
`./dev integration pre_commit` clones this repository, writes a sample project whose one finding its baseline
accepts, and lets pre-commit install and run the two hooks of the clone there, as a project would that names
them in its `.pre-commit-config.yaml`.
"""


def _git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=sample", "-c", "user.email=sample@example.org")
    done = subprocess.run(
        ["git", *name, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        raise UnavailableError(f"git {words[0]} failed:\n{done.stderr}")
    return done.stdout.strip()


def _sample(folder: Path, clone: Path) -> None:
    """A project with an accepted finding and the hooks of the clone."""
    (folder / "src/engine").mkdir(parents=True)
    (folder / "src/engine/__init__.py").touch()
    (folder / "src/engine/names.py").write_text(ENGINE, encoding="utf-8")
    configuration = CONFIGURATION.format(clone=clone, revision=_git(clone, "rev-parse", "HEAD"))
    (folder / ".pre-commit-config.yaml").write_text(configuration, encoding="utf-8")
    baseline = [sys.executable, "-m", "coldfork", "baseline", "write", "coldfork-baseline.json", "src"]
    subprocess.run(baseline, cwd=folder, check=True, capture_output=True, timeout=300)
    _git(folder, "init", "--quiet")
    _git(folder, "add", ".")
    _git(folder, "commit", "--quiet", "--message", "Begin")


def _hooks(folder: Path, *words: str) -> Ended:
    """Run pre-commit; the revision of the clone and its folder are told as what they are."""
    environment = {
        **os.environ,
        "PRE_COMMIT_HOME": str(ENVIRONMENT.folder / "home"),
        "PRE_COMMIT_COLOR": "never",
    }
    command = [str(ENVIRONMENT.python), "-m", "pre_commit", "run", *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=900,
    )
    return Ended(done.returncode, ENVIRONMENT.anonymous(done.stdout))


def work() -> Transcript:
    """Clone, install and run the hooks on an old finding and on a new one."""
    ENVIRONMENT.prepare()
    transcript = Transcript("pre-commit 4.7.0 with the hooks of this repository", INTRODUCTION)
    clone, project = ENVIRONMENT.folder / "clone", ENVIRONMENT.folder / "project"
    for folder in (clone, project):
        shutil.rmtree(folder, ignore_errors=True)
    project.mkdir(parents=True)
    _git(ENVIRONMENT.folder, "clone", "--quiet", str(ROOT), str(clone))
    _sample(project, clone)
    # It is made once, and says so only then.
    _hooks(project, "--all-files")
    transcript.step(
        "Nothing has changed, and the baseline accepts what there is.",
        _hooks(project, "--all-files", "--verbose").without("duration"),
        r"^coldfork\.+Passed$",
    )
    (project / "src/engine/more.py").write_text(ENGINE, encoding="utf-8")
    _git(project, "add", ".")
    transcript.step(
        "A file with a new finding is to be committed.",
        _hooks(project).without("duration"),
        r"^coldfork\.+Failed$",
        r"^src/engine/more\.py:3:8: error\[device-init-at-import\]",
        status=1,
    )
    transcript.step(
        "The same by the hook for the whole tree, which this project runs before a push.",
        _hooks(project, "--all-files", "--hook-stage", "pre-push", "coldfork-all").without("duration"),
        r"^src/engine/more\.py:3:8: error\[device-init-at-import\]",
        status=1,
    )
    (project / "src/engine/more.py").write_text("NAME = None\n", encoding="utf-8")
    _git(project, "add", ".")
    transcript.step("Mended, the file is let through.", _hooks(project), r"^coldfork\.+Passed$")
    return transcript


if __name__ == "__main__":
    sys.exit(main("pre_commit", work))
