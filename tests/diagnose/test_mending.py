"""Whether a version mends the guilty line: in environments on disk, in sources, and where none is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from coldfork.diagnose.case import Waking
from coldfork.diagnose.explaining import explain, read_log
from coldfork.diagnose.sources import Sources
from coldfork.model.diagnosis import Blame, Place, Step, Story, Suspect
from tests.diagnose import corpus

LOG = corpus.CAPTURED / "truncated_speculative_decoding.log"
WORKER = corpus.CAPTURED / "broken_engine-3.11.log"


def told(where: Sources, log: Path = LOG, wakings: Sequence[Waking] = ()) -> Story:
    """The story of a log, with versions from there."""
    with log.open("rb") as stream:
        (story,) = explain([read_log(stream, None)], wakings=wakings, installed=where.installed).stories
    return story


def environment(folder: Path, *distributions: str) -> Path:
    """An environment in which these are installed, as far as their metadata says."""
    packages = folder / "lib" / "python3.12" / "site-packages"
    for name in distributions:
        (packages / f"{name}.dist-info").mkdir(parents=True)
    return folder


@pytest.mark.must_hold
@pytest.mark.parametrize("installed", ["0.11.0", "0.11.0+cu129", "0.17.0rc1", "0.9"])
def test_an_older_version_is_told_to_be_upgraded(tmp_path: Path, installed: str) -> None:
    story = told(Sources(python=environment(tmp_path, f"vllm-{installed}", "torch-2.8.0")))
    assert story.remedies[0].startswith("Upgrade vllm to 0.17.0 or newer, where this is mended: ")
    assert story.remedies[0].endswith(f" {installed} is installed.")
    assert story.remedies[1].startswith("Compute it lazily")


@pytest.mark.parametrize("installed", ["0.17.0", "0.33.0", "1.0", "0.17.0.post1"])
def test_a_version_that_has_the_mended_line_is_no_remedy(tmp_path: Path, installed: str) -> None:
    story = told(Sources(python=environment(tmp_path, f"vllm-{installed}")))
    assert story.remedies[0].startswith("Compute it lazily")
    assert f"vllm 0.17.0 mended this line ({_SOURCE}), and {installed} is installed" in story.cause


_SOURCE = "vllm/vllm_flash_attn/flash_attn_interface.py of 0.16.0 and of 0.17.0"


@pytest.mark.parametrize("distributions", [("torch-2.8.0",), ("vllm-unknown",)])
def test_where_the_version_is_not_known_it_says_so(tmp_path: Path, distributions: tuple[str, ...]) -> None:
    story = told(Sources(python=environment(tmp_path, *distributions)))
    assert story.remedies[0].startswith("Upgrade vllm to 0.17.0 or newer")
    assert "The version behind this log was not found" in story.remedies[0]


def test_the_version_is_read_from_sources_as_well(tmp_path: Path) -> None:
    released = tmp_path / "vllm-0.11.0"
    (released / "vllm").mkdir(parents=True)
    (released / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: vllm\nVersion: 0.11.0\n\nVersion: 9\n")
    assert told(Sources((released / "vllm",))).remedies[0].endswith("0.11.0 is installed.")
    assert told(Sources((released,))).remedies[0].endswith("0.11.0 is installed.")
    checkout = tmp_path / "vllm"
    checkout.mkdir()
    (checkout / "pyproject.toml").write_text('[project]\nname = "vLLM"\nversion = "0.18"\n')
    assert "and 0.18 is installed" in told(Sources((checkout,))).cause


@pytest.mark.parametrize("text", ["[project", "[project]\nname = 'vllm'\n", "project = 3\n", ""])
def test_sources_that_do_not_say_their_version_have_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "pyproject.toml").write_text(text)
    assert "was not found" in told(Sources((tmp_path / "vllm",))).remedies[0]


def test_the_environment_that_the_log_names_is_asked_where_it_is_here(tmp_path: Path) -> None:
    packages = environment(tmp_path, "vllm-0.11.0") / "lib" / "python3.12" / "site-packages"
    backend = packages / "vllm" / "v1" / "attention" / "backends" / "flash_attn.py"
    backend.parent.mkdir(parents=True)
    backend.write_text("")
    moved = LOG.read_text(encoding="utf-8").replace(
        "/usr/local/lib/python3.12/dist-packages/", f"{packages}/"
    )
    log = tmp_path / "worker.log"
    log.write_text(moved, encoding="utf-8")
    assert told(Sources(), log).remedies[0].endswith("0.11.0 is installed.")


def test_another_line_of_the_same_file_is_another_fault(tmp_path: Path) -> None:
    text = LOG.read_text(encoding="utf-8").replace("_is_fa2_supported", "_other")
    log = tmp_path / "worker.log"
    where = Sources(python=environment(tmp_path, "vllm-0.11.0"))
    log.write_text(text.replace("in FlashAttentionMetadataBuilder", "in Other"), encoding="utf-8")
    assert told(where, log).remedies[0].startswith("Compute it lazily")
    log.write_text(text, encoding="utf-8")
    assert told(where, log).remedies[0].startswith("Upgrade vllm")


def test_a_worker_that_only_used_the_device_has_no_version_to_blame(tmp_path: Path) -> None:
    where = Sources(python=environment(tmp_path, "vllm-0.11.0", "triton-3.3.1"))
    assert told(where, WORKER).remedies[0].startswith("Choose spawn")


def test_what_a_recording_saw_is_compared(tmp_path: Path) -> None:
    where = Sources(python=environment(tmp_path, "triton-3.3.1"))
    stack = (
        Step("/srv/kernels.py", "<module>", "@triton.autotune("),
        Step("/x/site-packages/triton/runtime/autotuner.py", "decorator", "return Autotuner(fn)"),
        Step(
            "/x/site-packages/triton/runtime/autotuner.py",
            "__init__",
            "self.do_bench = driver.active.get_benchmarker()",
        ),
    )
    waking = Waking(Place("/srv/kernels.py", 6, "triton.autotune"), "kernels", None, (), stack)
    story = told(where, WORKER, wakings=[waking])
    assert story.culprit == waking.place
    assert story.remedies[0].startswith("Upgrade triton to 3.4.0 or newer")


def test_of_a_place_that_a_note_names_the_function_is_read_from_its_file(tmp_path: Path) -> None:
    package = tmp_path / "torch_scatter"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import torch\n\nsuffix = 'cuda' if torch.cuda.is_available() else 'cpu'\n\n\n"
        "def later():\n    return torch.cuda.is_available()\n"
    )
    where = Sources(python=environment(tmp_path / "env", "torch_scatter-2.0.6"))
    for line, upgraded in ((3, True), (7, False), (1, False), (99, False)):
        waking = Waking(Place(str(package / "__init__.py"), line), "torch_scatter", None)
        story = told(where, WORKER, wakings=[waking])
        assert story.remedies[0].startswith("Upgrade torch-scatter to 2.1.2") is upgraded, line


def test_the_one_cause_in_the_sources_is_compared(tmp_path: Path) -> None:
    certain = Suspect(
        Place("kernels.py", 6, "triton.runtime.autotuner.autotune"),
        "certain: importing it wakes it",
        (),
        (
            Step("kernels.py", "<module>", "@triton.autotune("),
            Step("triton/runtime/autotuner.py", "autotune"),
        ),
    )
    other = Suspect(Place("other.py", 1), "possible: importing it wakes it")
    where = Sources(python=environment(tmp_path, "triton-3.3.0"))
    with WORKER.open("rb") as stream:
        log = read_log(stream, None)
    (story,) = explain([log], lambda paths: (certain, other), installed=where.installed).stories
    assert story.remedies[0].startswith("Upgrade triton to 3.4.0 or newer")
    again = replace(certain, place=Place("more.py", 2))
    (story,) = explain([log], lambda paths: (certain, again), installed=where.installed).stories
    assert story.blame is Blame.MET, "which of the two it was is not known, but both come to the same fault"
    assert story.remedies[0].startswith("Upgrade triton to 3.4.0 or newer")
    sure = replace(other, reason="certain: importing it wakes it")
    (story,) = explain([log], lambda paths: (certain, sure), installed=where.installed).stories
    assert story.remedies[0].startswith("Compute it lazily")
    (story,) = explain([log], lambda paths: (other,), installed=where.installed).stories
    assert story.remedies[0].startswith("Compute it lazily")


def test_what_no_version_mends_is_said_and_is_no_remedy(tmp_path: Path) -> None:
    (tmp_path / "torch_geometric").mkdir()
    file = tmp_path / "torch_geometric" / "typing.py"
    file.write_text("import torch\nNO_MKL = 'USE_MKL=OFF' in torch.__config__.show()\n")
    story = told(Sources(), WORKER, wakings=[Waking(Place(str(file), 2), "torch_geometric.typing", None)])
    assert "No version of torch-geometric is known to mend this (read in 2.6.1, 2.8.1)" in story.cause
    assert story.remedies[0].startswith("Compute it lazily")
