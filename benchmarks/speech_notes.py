"""Measures how long a job of examples/speech_notes takes: `./dev bench speech_notes [--rounds 11]`

The same transcript is punctuated and summarised in turn, round after round, in a script that is started anew,
in a warm script, and in the service's pool, so that what the machine is busy with weighs on all of them: once
by the engine that is always there, and once by one that imports torch, as most with a model do. A job begins
when it is given to its launcher, with a worker of the pool ready, and has ended when its note is there. Then
the same over HTTP, and jobs back to back, of which each one waits for the pool's next worker.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Spread
from published.places import ROOT

if TYPE_CHECKING:
    from speech_notes.launch.launcher import Launcher

EXAMPLE = ROOT / "examples" / "speech_notes"
TRANSCRIPT = " ".join(f"we counted {number} lines of the report on monday" for number in range(60))
ANEW, WARM, POOL = "script anew", "warm script", "pool"
PATIENCE = 60
ENGINE = """
from speech_notes.engines.embedded import Embedded


class Heavy(Embedded):
    about = "The embedded engine behind an import of torch."
    preload = ("torch",)

    def __init__(self):
        import torch
"""


def main(words: Sequence[str] | None = None) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="./dev bench speech_notes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    rounds = parser.parse_args(words).rounds
    sys.path[:0] = [str(EXAMPLE)]
    with tempfile.TemporaryDirectory() as folder:
        sys.path[:0] = [folder]
        # Scripts and servers find coldfork and the engine as this process does.
        os.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT / "src"), folder))
        Path(folder, "heavy.py").write_text(ENGINE, encoding="utf-8")
        for engine, modules in (("embedded", ["asyncio"]), ("heavy:Heavy", ["torch"])):
            print(f"engine {engine}, {rounds} rounds: median (quartiles; extremes)", flush=True)
            with _launchers(Path(folder, engine.partition(":")[0]), engine, modules) as launchers:
                _tell(asyncio.run(_in_turn(launchers, rounds)))
                _tell({f"{POOL}, back to back": asyncio.run(_back_to_back(launchers[POOL], rounds))})
        print("over HTTP, engine embedded, from the request to the note:", flush=True)
        _tell(_over_http(Path(folder, "served"), rounds))
    return 0


@contextlib.contextmanager
def _launchers(data: Path, engine: str, modules: Sequence[str]) -> Iterator[dict[str, Launcher]]:
    from speech_notes.launch.isolated import Isolated
    from speech_notes.launch.pooled import Pooled
    from speech_notes.settings import Settings

    pool = Pooled(Settings(data / "pool", engine=engine))
    try:
        yield {
            ANEW: Isolated(Settings(data / "anew", engine=engine)),
            WARM: Isolated(Settings(data / "warm", engine=engine), warm=modules),
            POOL: pool,
        }
    finally:
        pool.close()


async def _in_turn(launchers: dict[str, Launcher], rounds: int) -> dict[str, Spread]:
    seconds: dict[str, list[float]] = {name: [] for name in launchers}
    await _warmed(launchers[WARM])
    for number in range(rounds):
        for name, launcher in launchers.items():
            if name == POOL:
                await _ready(launcher)
            began = time.perf_counter()
            ending = await launcher.run(TRANSCRIPT, f"{name}-{number}", _nobody)
            seconds[name].append(time.perf_counter() - began)
            _check(ending, name)
    return {name: Spread.of(samples) for name, samples in seconds.items()}


async def _warmed(launcher: Launcher) -> None:
    """Have the server of warm scripts ready."""
    deadline = time.monotonic() + PATIENCE
    while not (await launcher.run(TRANSCRIPT, "first", _nobody)).process["warm"]:  # type: ignore[index]
        if time.monotonic() > deadline:
            raise TimeoutError("no start was a warm one")
        await asyncio.sleep(0.5)


async def _ready(launcher: Launcher) -> None:
    while not launcher.health()["warm"]:  # type: ignore[index]
        await asyncio.sleep(0.005)


async def _back_to_back(launcher: Launcher, rounds: int) -> Spread:
    await _ready(launcher)
    seconds = []
    for number in range(2 * rounds):
        began = time.perf_counter()
        _check(await launcher.run(TRANSCRIPT, f"again-{number}", _nobody), POOL)
        seconds.append(time.perf_counter() - began)
    return Spread.of(seconds[1:])


def _check(ending: object, name: str) -> None:
    if getattr(ending, "note", None) is None or (name == WARM and not ending.process["warm"]):  # type: ignore[attr-defined]
        raise RuntimeError(f"{name}: {ending}")


def _nobody(done: int, total: int) -> None:
    """Hear how far it is."""


def _over_http(folder: Path, rounds: int) -> dict[str, Spread]:
    with contextlib.ExitStack() as servers:
        ports = {
            name: servers.enter_context(_server(folder / launch, launch))
            for name, launch in ((ANEW, "isolated"), (POOL, "pool"))
        }
        seconds: dict[str, list[float]] = {name: [] for name in ports}
        for _ in range(rounds + 1):
            for name, port in ports.items():
                began = time.perf_counter()
                _asked(port)
                seconds[name].append(time.perf_counter() - began)
                # The pool's next worker is there by then.
                time.sleep(0.2)
    return {name: Spread.of(samples[1:]) for name, samples in seconds.items()}


@contextlib.contextmanager
def _server(data: Path, launch: str) -> Iterator[int]:
    command = [sys.executable, "-m", "speech_notes", "--port", "0", "--data", str(data), "--launch", launch]
    server = subprocess.Popen(
        command, cwd=EXAMPLE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert server.stdout is not None
        yield int(server.stdout.readline().rpartition(":")[2])
    finally:
        server.terminate()
        server.wait()


def _asked(port: int) -> None:
    """Send the transcript, and follow its job to the end, as the page does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", "/transcripts", TRANSCRIPT, {"content-type": "text/plain"})
    name = json.loads(connection.getresponse().read())["id"]
    connection.request("GET", f"/jobs/{name}/events")
    for line in connection.getresponse():
        if line.startswith(b"data: ") and json.loads(line[6:])["state"] == "done":
            return
    raise RuntimeError("the job was not done")


def _tell(told: dict[str, Spread]) -> None:
    milliseconds: Callable[[float], str] = lambda seconds: f"{seconds * 1000:.1f}"  # noqa: E731
    for name, one in told.items():
        print(
            f"  {name:<20} {milliseconds(one.median):>7} ms "
            f"({milliseconds(one.first_quartile)}-{milliseconds(one.third_quartile)}; "
            f"{milliseconds(one.low)}-{milliseconds(one.high)})",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
