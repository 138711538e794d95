"""Pages of how-to whose blocks a reader writes and types: they do here what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT, settled, tried

pytestmark = pytest.mark.once

HOW_TO = ROOT / "docs" / "how-to"


def page(name: str) -> str:
    """Return the text of a page."""
    return (HOW_TO / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, kind: str) -> list[str]:
    """Return the blocks of one kind on a page, in order."""
    return re.findall(rf"^```{kind}[^\n]*\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)


def printed(*command: str, stdin: str = "", **variables: str) -> str:
    """Return what a Python program prints."""
    done = subprocess.run(
        [sys.executable, *command],
        input=stdin,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_moving_to_the_new_default_goes_as_the_page_shows(tmp_path: Path, cache: Path) -> None:
    # A folder named after this test would pass for one of tests, of which check lists nothing.
    folder = tmp_path / "page"
    folder.mkdir()
    text = page("python-3.14")
    assert text.count("```console") == 3
    assert settled(tried(text, folder, cache)) == settled(text)


def test_the_cells_of_a_notebook_print_what_the_page_shows() -> None:
    # A program on standard input has no file either from which a worker could import.
    cells = blocks("notebooks", "python")[1:]
    assert len(cells) == 2
    assert printed("-", stdin="\n\n".join(cells)) == "".join(blocks("notebooks", "text")[2:])


def test_the_program_for_ray_runs_without_ray(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(blocks("ray", "python")[0], encoding="utf-8")
    assert printed(str(tmp_path / "job.py"), "local") == blocks("ray", "text")[0]


def test_the_manifests_agree_with_each_other_and_with_the_program(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    job, queues = (list(yaml.safe_load_all(block)) for block in blocks("kubernetes", "yaml"))
    [ray] = job
    flavour, cluster, local = queues
    assert ray["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == local["metadata"]["name"]
    assert local["spec"]["clusterQueue"] == cluster["metadata"]["name"]
    [group] = cluster["spec"]["resourceGroups"]
    assert [one["name"] for one in group["flavors"]] == [flavour["metadata"]["name"]]
    quota = {one["name"]: one["nominalQuota"] for one in group["flavors"][0]["resources"]}
    assert sorted(quota) == sorted(group["coveredResources"])
    spec = ray["spec"]["rayClusterSpec"]
    [workers] = spec["workerGroupSpecs"]
    head, worker = (one["template"]["spec"]["containers"][0] for one in (spec["headGroupSpec"], workers))
    assert head["image"] == worker["image"]
    devices = workers["replicas"] * int(worker["resources"]["limits"]["nvidia.com/gpu"])
    variables = yaml.safe_load(ray["spec"]["runtimeEnvYAML"])["env_vars"]
    assert devices == quota["nvidia.com/gpu"] == int(variables["WORKERS"]) == 4
    needed = int(head["resources"]["requests"]["cpu"])
    needed += workers["replicas"] * int(worker["resources"]["requests"]["cpu"])
    assert needed <= quota["cpu"]
    (tmp_path / "job.py").write_text(blocks("kubernetes", "python")[0], encoding="utf-8")
    assert ray["spec"]["entrypoint"] == "python job.py"
    assert printed(str(tmp_path / "job.py"), BACKEND="local", WORKERS="1") == "[0, 1, 4, 9]\n"
