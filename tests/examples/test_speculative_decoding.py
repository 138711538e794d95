"""The speculative decoder: the same text with every speculator in fewer passes, and its broken backend."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "speculative_decoding"
COUNT = 40


@pytest.fixture
def speculate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The example's package; its threads and gradients are put back."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    threads = torch.get_num_threads()
    yield import_module("speculate.engine"), import_module("speculate.text")
    torch.set_num_threads(threads)
    torch.set_grad_enabled(True)


@pytest.fixture
def models(speculate: Any, cache: Path) -> Path:
    """A file with the models, trained once for all workers, and only as far as they then guess something."""
    trained = cache / "speculative-decoding.pt"
    if not trained.exists():
        torch.set_num_threads(1)
        own = trained.with_suffix(f".{os.getpid()}")
        import_module("speculate.training").load(own, 120)
        own.replace(trained)
    return trained


@pytest.mark.must_hold
def test_every_speculator_decodes_what_plain_decoding_does(speculate: Any, models: Path) -> None:
    engine, text = speculate
    prompt = text.encode("The child inherits ")
    # The target is the same for all: its graphs are checked where a speculator has graphs of its own.
    checks = {"none": "off", "ngram": "off"}
    outcomes = {
        method: engine.Engine(
            engine.Config(method=method, model=models, check=checks.get(method, "error"))
        ).generate(prompt, COUNT)
        for method in engine.METHODS
    }
    plain = outcomes.pop("none")
    assert plain.forwards == COUNT
    for method, outcome in outcomes.items():
        assert outcome.tokens == plain.tokens, method
        assert outcome.accepted > 0, method
        assert outcome.forwards < COUNT, method
        assert outcome.replays > 0, method


@pytest.mark.must_hold
def test_the_broken_backend_is_refused_by_line_and_wrong_if_it_is_captured_anyway(
    speculate: Any, models: Path
) -> None:
    engine, text = speculate
    from coldfork.graphs import LeakError, LeakKind

    config = {"model": models, "backend": "remembered"}
    with pytest.raises(LeakError) as refused:
        engine.Engine(engine.Config(method="none", **config))
    memory = next(leak for leak in refused.value.report.leaks if leak.kind is LeakKind.MEMORY)
    assert memory.origin is not None
    assert Path(memory.origin.path).name == "attention.py"
    assert memory.origin.function == "_mask"
    prompt = text.encode("The child inherits ")
    wrong = engine.Engine(engine.Config(method="none", check="off", **config)).generate(prompt, COUNT)
    right = engine.Engine(engine.Config(method="none", model=models)).generate(prompt, COUNT)
    assert wrong.tokens != right.tokens


def run(models: Path, cache: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the example as a person would."""
    return subprocess.run(
        [sys.executable, "-m", "speculate", "--method", "ngram", "--model", str(models), *options],
        cwd=EXAMPLE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLDFORK_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_person_runs_it_from_a_process_that_has_touched_the_device(models: Path, cache: Path) -> None:
    done = run(models, cache, "--awake", "h100", "--tokens", "30")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("spawn, because cuda is awake here")
    assert re.search(r"^ngram .* yes$", done.stdout, re.MULTILINE)


def test_with_the_check_off_no_method_decodes_the_right_text_on_the_broken_backend(
    models: Path, cache: Path
) -> None:
    done = run(models, cache, "--backend", "remembered", "--check", "off", "--tokens", str(COUNT))
    assert done.returncode == 1, done.stderr
    assert re.findall(r"^(none|ngram) .* (\w+)$", done.stdout, re.MULTILINE) == [
        ("none", "NO"),
        ("ngram", "NO"),
    ]
