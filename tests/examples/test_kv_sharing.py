"""Two engines share a cache: the second computes less, and says bit for bit what it says alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="tried on Linux"),
]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "kv_sharing"
PLAINLY = [sys.executable, "-m", "sharing"]
ISOLATED = [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir"]
README = (EXAMPLE / "README.md").read_text(encoding="utf-8")
BLOCK = 16


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The example's engine; threads and gradients are put back."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setattr(sys, "path", list(sys.path))
    threads, seed = torch.get_num_threads(), torch.get_rng_state()
    yield import_module("sharing.engine")
    torch.set_num_threads(threads)
    torch.set_rng_state(seed)
    torch.set_grad_enabled(True)


def ran(command: list[str], *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run this command in the example's folder, as a person would."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")}
    return subprocess.run(
        [*command, *words],
        cwd=EXAMPLE,
        env={**kept, "PYTHONPATH": str(ROOT / "src"), **extra},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def answers(folder: Path, command: list[str], *words: str) -> tuple[str, dict[str, Any]]:
    """Return the printed text, and the JSON written with --json, by engine and prompt."""
    done = ran(command, *words, "--json", str(folder / "told.json"))
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    by_name = {f"{answer['engine']} {answer['prompt']}": answer for answer in told["answers"]}
    return done.stdout, told | by_name


@pytest.mark.must_hold
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_the_second_engine_computes_less_and_says_the_same(tmp_path: Path, method: str) -> None:
    # Once as a person starts it, and once isolated: it is the same program.
    command = PLAINLY if method == "spawn" else [*ISOLATED, str(tmp_path), "--", "-m", "sharing"]
    printed, told = answers(tmp_path, command, "--method", method)
    # The README shows a run; all but its first line is the same in every one.
    assert printed.partition("\n")[2] == re.findall(r"```\n.*\n([^`]*)```", README)[0]
    assert (told["method"], told["because"]) == (method, f"{method}, as it was asked for")
    first, why, who = (told[name]["outcome"] for name in ("first why", "second why", "second who"))
    assert (first["loaded"], first["stored"]) == (0, first["computed"] // BLOCK)
    # All full blocks of the same prompt are there; of the other one those that both begin with.
    assert why["loaded"] == first["stored"] * BLOCK
    assert 0 < who["loaded"] < why["loaded"]
    assert max(why["computed"], who["computed"]) < first["computed"] / 4
    assert why["loaded"] + why["computed"] == first["computed"]
    assert (why["tokens"], why["scores"]) == (first["tokens"], first["scores"])
    assert why["tokens"] != who["tokens"]
    assert (told["second why"]["same"], told["second who"]["same"]) == (True, True)


@pytest.mark.must_hold
def test_an_engine_killed_while_it_stores_a_block_harms_nobody(tmp_path: Path) -> None:
    printed, told = answers(tmp_path, PLAINLY, "--method", "spawn", "--crash", "6")
    assert "first    why    the first engine was killed by SIGKILL\n" in printed
    assert told["first why"]["outcome"] is None
    assert told["first why"]["trouble"] == "the first engine was killed by SIGKILL"
    why, who = (told[name]["outcome"] for name in ("second why", "second who"))
    # Six blocks are whole, the seventh is not, and is computed and stored by the other engine.
    assert why["loaded"] == 6 * BLOCK
    assert why["stored"] == (why["loaded"] + why["computed"]) // BLOCK - 6
    assert who["loaded"] == 12 * BLOCK
    assert (told["second why"]["same"], told["second who"]["same"]) == (True, True)


@pytest.mark.must_hold
def test_a_fork_beside_an_awake_device_is_refused() -> None:
    done = ran(PLAINLY, "--awake", "h100", "--method", "fork")
    assert (done.returncode, done.stdout) == (1, "")
    refusal = "multiprocessing first was refused, and no process was started: cuda is awake here"
    assert refusal in done.stderr
    assert "= help: start the process with spawn" in done.stderr


def test_what_comes_from_memory_is_what_the_outcome_hangs_on(engine: Any) -> None:
    """That the comparison can fail: one wrong number in one block, and the scores are others."""
    from sharing.layout import BLOCK_BYTES
    from sharing.store import Store

    one = engine.Engine()
    prompt, store = list(b"Importing the package wakes the device."), Store(8, BLOCK_BYTES)
    alone = one.generate(prompt, 8)
    assert one.generate(prompt, 8, store) == engine.Outcome(alone.tokens, alone.scores, len(prompt), 0, 2)
    shared = one.generate(prompt, 8, store)
    assert (shared.scores, shared.loaded) == (alone.scores, 2 * BLOCK)
    # Written past the store's own check: a bit in the upper half of a value in the middle of the first block.
    memory = store._memory_of(0)
    memory[BLOCK_BYTES * 3 // 4 + 5] ^= 1
    check = store._at(0) + 41
    store._memory.bytes[check : check + 16] = blake2b(memory, digest_size=16).digest()
    damaged = one.generate(prompt, 8, store)
    assert damaged.loaded == 2 * BLOCK
    assert damaged.scores != alone.scores


def test_another_model_finds_nothing(engine: Any) -> None:
    from sharing.layout import BLOCK_BYTES
    from sharing.store import Store

    prompt, store = list(b"Importing the package wakes the device."), Store(8, BLOCK_BYTES)
    one = engine.Engine()
    assert one.generate(prompt, 1, store).stored == 2
    one._decoder.blocks[1].join.bias[0] += 1e-12
    one.model = engine._identity(one._decoder)
    assert one.generate(prompt, 1, store).loaded == 0


def test_the_script_for_two_gpus_says_so_where_there_are_none() -> None:
    """More of it needs what this machine has not, and the README says that it was not tested."""
    command = [sys.executable, "-m", "sharing.with_lmcache"]
    done = ran(command, CUDA_VISIBLE_DEVICES="0")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "two GPUs are needed, and CUDA_VISIBLE_DEVICES shows fewer\n"
    assert "**Nothing of this section was run by this project's tests" in README
