"""The store that two engines share: whole blocks or none, whoever writes, reads, overwrites or is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the locks were tried on Linux"),
]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "kv_sharing"
SECONDS = 120

#: A block says what it must hold: so many times the number it is stored under.
BLOCKS = """
import json, multiprocessing, os, random, signal, sys, time
from sharing.store import EMPTY, WHOLE, WRITING, Store

SIZE = 65_536

def key(number):
    return number.to_bytes(32, "little")

def whole(number):
    return number.to_bytes(4, "little") * (SIZE // 4)

def fill(number, halfway=None):
    def write(memory):
        content = whole(number)
        memory[: SIZE // 2] = content[: SIZE // 2]
        if halfway is not None:
            halfway()
        memory[SIZE // 2 :] = content[SIZE // 2 :]
    return write
"""


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example's modules that need no torch."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return import_module("sharing.blocks"), import_module("sharing.store")


def ran(folder: Path, program: str, *words: str) -> Any:
    """Return the output of a program of several processes; it must be a file, as spawn reads it again."""
    file = folder / "program.py"
    file.write_text(BLOCKS + textwrap.dedent(program), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", file, *words],
        env={**os.environ, "PYTHONPATH": str(EXAMPLE)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_key_stands_for_the_block_and_all_before_it(sharing: Any) -> None:
    blocks, _ = sharing
    text = list(range(50))
    keys = list(blocks.keys(b"model", text))
    assert len(set(keys)) == len(keys) == 50 // blocks.TOKENS
    assert list(blocks.keys(b"model", text[:33])) == keys[:2]
    assert next(blocks.keys(b"another", text)) not in keys
    other = list(blocks.keys(b"model", [99, *text[1:]]))
    assert not set(other) & set(keys)


def test_keys_are_the_same_in_every_interpreter(sharing: Any) -> None:
    """Python's own `hash` is not, unless PYTHONHASHSEED is set: with spawn nothing would ever be found."""
    blocks, _ = sharing
    program = "from sharing.blocks import keys; print(next(keys(b'model', list(range(16)))).hex())"
    for seed in ("0", "random"):
        said = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": str(EXAMPLE), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        assert said == next(blocks.keys(b"model", list(range(16)))).hex()


def _filled(content: bytes) -> Any:
    def fill(memory: memoryview) -> None:
        memory[:] = content

    return fill


def test_a_block_that_was_put_is_had_and_the_one_used_longest_ago_gives_way(sharing: Any) -> None:
    _, stores = sharing
    store = stores.Store(2, 4)
    assert store.get(b"a" * 32) is None
    assert store.put(b"a" * 32, _filled(b"aaaa"))
    assert store.put(b"b" * 32, _filled(b"bbbb"))
    assert not store.put(b"a" * 32, _filled(b"xxxx"))
    assert store.get(b"a" * 32) == b"aaaa"
    assert store.put(b"c" * 32, _filled(b"cccc"))
    assert store.get(b"b" * 32) is None
    assert (store.get(b"a" * 32), store.get(b"c" * 32)) == (b"aaaa", b"cccc")


def test_a_block_whose_writer_fails_is_not_there(sharing: Any) -> None:
    _, stores = sharing
    store = stores.Store(2, 4)

    def fails(memory: memoryview) -> None:
        memory[:2] = b"aa"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        store.put(b"a" * 32, fails)
    assert store.get(b"a" * 32) is None
    assert store.states() == [stores.EMPTY, stores.EMPTY]
    assert store.put(b"a" * 32, _filled(b"aaaa"))


def test_a_block_that_is_not_what_was_put_is_a_miss(sharing: Any) -> None:
    _, stores = sharing
    store = stores.Store(1, 4)
    store.put(b"a" * 32, _filled(b"aaaa"))
    store._memory_of(0)[3:] = b"x"
    assert store.get(b"a" * 32) is None


@pytest.mark.must_hold
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_two_writers_and_two_readers_at_once_never_see_half_a_block(tmp_path: Path, method: str) -> None:
    """More blocks than slots, so that they are overwritten all the time; every block that is had is whole."""
    told = ran(
        tmp_path,
        """
        def work(store, seed, done):
            random.seed(seed)
            wrong = had = put = 0
            for _ in range(600):
                number = random.randrange(12)
                block = store.get(key(number))
                if block is None:
                    put += store.put(key(number), fill(number))
                else:
                    had += 1
                    wrong += block != whole(number)
            done.put((wrong, had, put))

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            store = Store(5, SIZE)
            done = context.SimpleQueue()
            workers = [context.Process(target=work, args=(store, seed, done)) for seed in range(4)]
            for worker in workers:
                worker.start()
            told = [done.get() for _ in workers]
            for worker in workers:
                worker.join()
            print(json.dumps({"told": told, "states": store.states()}))
        """,
        method,
    )
    for wrong, had, put in told["told"]:
        assert wrong == 0
        assert had > 0
        assert put > 0
    assert set(told["states"]) == {2}


@pytest.mark.must_hold
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_writer_killed_in_the_middle_leaves_nothing_to_read_and_no_lock(
    tmp_path: Path, method: str
) -> None:
    told = ran(
        tmp_path,
        """
        def die(store):
            store.put(key(1), fill(1))
            store.put(key(2), fill(2, halfway=lambda: os.kill(os.getpid(), signal.SIGKILL)))

        if __name__ == "__main__":
            store = Store(2, SIZE)
            writer = multiprocessing.get_context(sys.argv[1]).Process(target=die, args=(store,))
            writer.start()
            writer.join()
            half = store._memory_of(1)
            told = {"died": writer.exitcode, "states": store.states()}
            told["half"] = [bytes(half[:4]) == whole(2)[:4], bytes(half[-4:]) == whole(2)[-4:]]
            told["had"] = [store.get(key(1)) == whole(1), store.get(key(2))]
            told["again"] = store.put(key(2), fill(2))
            told["then"] = [store.get(key(number)) == whole(number) for number in (1, 2)]
            print(json.dumps(told))
        """,
        method,
    )
    assert told == {
        "died": -9,
        "states": [2, 1],
        "half": [True, False],
        "had": [True, None],
        "again": True,
        "then": [True, True],
    }


@pytest.mark.once
def test_writers_killed_anywhere_leave_whole_blocks_only(tmp_path: Path) -> None:
    told = ran(
        tmp_path,
        """
        def write(store):
            while True:
                number = random.randrange(1, 12)
                store.put(key(number), fill(number))

        if __name__ == "__main__":
            context = multiprocessing.get_context("forkserver")
            store = Store(4, SIZE)
            wrong = had = cut = 0
            for round in range(10):
                writer = context.Process(target=write, args=(store,))
                writer.start()
                until = time.monotonic() + 60
                seen = 0
                while seen < 5 + round and time.monotonic() < until:
                    for number in range(1, 12):
                        block = store.get(key(number))
                        if block is not None:
                            seen += 1
                            wrong += block != whole(number)
                had += seen
                writer.kill()
                writer.join()
                cut += WRITING in store.states()
                # Nobody holds a lock any more: every slot can be had.
                for number in range(100, 104):
                    assert store.put(key(number), fill(number)), store.states()
            print(json.dumps([wrong, had, cut]))
        """,
    )
    wrong, had, _cut = told
    assert wrong == 0
    assert had >= 10 * 5


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_the_memory_is_gone_with_the_processes_however_they_end(tmp_path: Path, method: str) -> None:
    """It has no name that could stay behind; while somebody holds it, the system shows where."""
    file = tmp_path / "program.py"
    program = """
        def hold(store, there):
            store.put(key(1), fill(1))
            there.send(None)
            time.sleep(600)

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            store = Store(4, SIZE)
            here, there = context.Pipe()
            holder = context.Process(target=hold, args=(store, there))
            holder.start()
            here.recv()
            print(holder.pid, flush=True)
            time.sleep(600)
        """
    file.write_text(BLOCKS + textwrap.dedent(program), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, file, method],
        env={**os.environ, "PYTHONPATH": str(EXAMPLE)},
        stdout=subprocess.PIPE,
        text=True,
    ) as launcher:
        assert launcher.stdout is not None
        holder = int(launcher.stdout.readline())
        memory = f"memfd:kv-cache-{launcher.pid}"
        assert {launcher.pid, holder} <= set(_holding(memory))
        assert not [place for place in Path("/dev/shm").iterdir() if place.name.startswith("kv-cache")]
        launcher.kill()
        os.kill(holder, 9)
    _until_nobody_holds(memory)


def _until_nobody_holds(memory: str) -> None:
    deadline = time.monotonic() + SECONDS
    while left := _holding(memory):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def _holding(memory: str) -> list[int]:
    """The processes that have this memory in their address space."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                maps = (place / "maps").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            if f"{memory} " in maps:
                found.append(int(place.name))
    return found
