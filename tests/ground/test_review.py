"""The hook, the action and the job that the repository and its pages offer: what they run, as they say it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLD, NEW = "import torch\nOLD = torch.cuda.get_device_name()\n", "import torch\nNEW = torch.ones(1).cuda()\n"

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not (shutil.which("git") and shutil.which("bash")), reason="needs git and bash"),
]
yaml = pytest.importorskip("yaml")


class Sample:
    """A repository whose one finding its baseline accepts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("old", OLD)
        (folder / "src/engine/__init__.py").touch()
        self.run("coldfork baseline write coldfork-baseline.json src")
        for command in ("init -q", "add .", "-c user.name=a -c user.email=a@example.org commit -qm begin"):
            self.run(f"git {command}")

    def write(self, name: str, text: str) -> None:
        file = self.folder / f"src/engine/{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run(self, script: str, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        # As GitHub runs a step that says `shell: bash`.
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        environment = {**os.environ, "PATH": path, **variables}
        return subprocess.run(
            command, cwd=self.folder, env=environment, check=check, capture_output=True, text=True
        )


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(tmp_path / "sample")


def step_of_action(sample: Sample, **inputs: str) -> tuple[subprocess.CompletedProcess[str], str, str]:
    """Run the step that checks; what it did, its summary, and its outputs."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "check"]
    given = {name: one["default"] for name, one in action["inputs"].items()} | inputs
    variables = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], text)
        for name, text in step["env"].items()
    }
    summary, outputs = sample.folder / "summary", sample.folder / "outputs"
    variables |= {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(outputs)}
    done = sample.run(step["run"], check=False, **variables)
    return (
        done,
        summary.read_text(encoding="utf-8") if summary.exists() else "",
        outputs.read_text(encoding="utf-8"),
    )


def test_the_action_fails_on_a_new_finding_alone(sample: Sample) -> None:
    inputs = {"paths": "src", "baseline": "coldfork-baseline.json"}
    done, summary, outputs = step_of_action(sample, **inputs)
    assert (done.returncode, outputs) == (0, "sarif=coldfork.sarif\nstatus=0\n"), done.stderr
    assert "::error" not in done.stdout
    assert "get_device_name" not in summary
    sample.write("new", NEW)
    done, summary, outputs = step_of_action(sample, **inputs)
    assert (done.returncode, outputs.splitlines()[-1]) == (1, "status=1")
    assert "::error file=src/engine/new.py,line=2," in done.stdout
    assert "new.py:2" in summary
    (run,) = json.loads((sample.folder / "coldfork.sarif").read_text(encoding="utf-8"))["runs"]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]]
    assert [place["uri"] for place in places] == ["src/engine/new.py"]


def test_the_action_passes_a_failure_on(sample: Sample) -> None:
    done, summary, outputs = step_of_action(sample, paths="nowhere")
    assert done.returncode == 2
    assert "status=2" in outputs
    assert summary == ""
    assert "nowhere" in done.stderr


def test_nothing_of_an_input_is_run(sample: Sample) -> None:
    step_of_action(sample, paths="src $(touch ran) ; touch ran", args="`touch ran`")
    assert not (sample.folder / "ran").exists()
    # Only the environment carries them: what is written into a script would be read as one.
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert [step["name"] for step in action["runs"]["steps"] if "${{" in step["run"]] == []


@pytest.mark.parametrize("name", ["coldfork", "coldfork-all"])
def test_a_hook_fails_on_a_new_finding(sample: Sample, name: str) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (hook,) = [hook for hook in hooks if hook["id"] == name]
    assert hook["pass_filenames"] is False
    # What a project writes under `args` comes behind the entry.
    command = f"{hook['entry']} --baseline coldfork-baseline.json src"
    assert shlex.split(command)[0] == "coldfork"
    assert sample.run(command).stdout == ""
    sample.write("new", NEW)
    sample.run("git add .")
    done = sample.run(command, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("src/engine/new.py:2:")


def test_the_job_for_gitlab_writes_its_report(sample: Sample) -> None:
    page = (ROOT / "docs/how-to/ci.md").read_text(encoding="utf-8")
    (text,) = [text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "codequality" in text]
    job: dict[str, Any] = yaml.safe_load(text)["coldfork"]
    install, check = job["script"]
    assert install.startswith("python -m pip install ")
    sample.write("new", NEW)
    assert sample.run(check, check=False).returncode == 1
    written = sample.folder / job["artifacts"]["reports"]["codequality"]
    (issue,) = json.loads(written.read_text(encoding="utf-8"))
    assert issue["location"] == {"path": "src/engine/new.py", "lines": {"begin": 2}}
    # GitLab drops the artifacts of a job that has failed unless it is told otherwise.
    assert job["artifacts"]["when"] == "always"
