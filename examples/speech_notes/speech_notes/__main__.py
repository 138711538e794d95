"""Start the service: `python -m speech_notes [--port 8137] [--engine vllm --model FOLDER]`."""

from __future__ import annotations

import argparse
import fcntl
import os
import socket
import sys
from pathlib import Path
from typing import IO

import uvicorn

import coldfork
from speech_notes.app import create
from speech_notes.engines import EngineError, find
from speech_notes.launch.choice import LAUNCHES, explain_missing, launcher
from speech_notes.same_origin import is_local
from speech_notes.settings import Settings
from speech_notes.store import Store, StoreError
from speech_notes.watching import Watching

LISTENING = 128
MOST_CONNECTIONS = 200
LAST_WORDS = 5
"""Seconds for open requests when the server goes down."""


class Server(uvicorn.Server):
    """uvicorn's server, which lets those who watch a job go before it waits for its connections."""

    def __init__(self, config: uvicorn.Config, watching: Watching) -> None:
        super().__init__(config)
        self._watching = watching

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then do what uvicorn does."""
        self._watching.close()
        await super().shutdown(sockets)


def main() -> int:
    """Set everything up, or say in one sentence why not."""
    os.umask(0o077)  # what is written down is its owner's alone, also in a folder that others may enter
    settings = _settings()
    missing = explain_missing(settings)
    if missing is not None:
        return _no(missing)
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = _hold(settings.data)
        if held is None:
            return _no(f"another server works on {settings.data}; --data names another folder")
        again, lost = Store(settings.data / "jobs.sqlite3").recover()
        find(settings.engine)
        if settings.awake is not None:
            _touch_the_device(settings.awake)
        door = _listen(settings.host, settings.port)
        launch = launcher(settings)
    except (OSError, StoreError, EngineError, coldfork.ColdforkError, ImportError) as error:
        return _no(str(error))
    with held, door:
        watching = Watching()
        config = uvicorn.Config(
            create(settings, watching, launch),
            log_level="info",
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=LAST_WORDS,
        )
        if again or lost:
            print(f"jobs that ran when the server died: {again} begun again, {lost} given up")
        if not is_local(settings.host):
            print(f"{settings.host} is open to the network, and whoever reaches it needs no password")
        print(f"speech notes: {_address(door)}", flush=True)
        Server(config, watching).run(sockets=[door])
    return 0


def _hold(data: Path) -> IO[bytes] | None:
    """The data folder for this server alone; None if another one has it.

    The system takes this lock from a process that dies, and a forked child never has it.
    """
    file = (data / "lock").open("ab")
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _touch_the_device(name: str) -> None:
    """Hold a device, as a server does that recognises speech itself. This one is virtual."""
    coldfork.virtual.install(name)
    import torch

    torch.cuda.init()


def _listen(host: str, port: int) -> socket.socket:
    try:
        door = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=LISTENING
        )
        # Else what follows on the heels of something is held back until that has arrived, for 40 ms at times.
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return door
    except OSError as error:
        raise OSError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def _address(door: socket.socket) -> str:
    host, port = door.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _no(why: str) -> int:
    print(f"error: {why}", file=sys.stderr)
    return 2


def _settings() -> Settings:
    usual = Settings(Path())
    parser = argparse.ArgumentParser(prog="python -m speech_notes", description=__doc__)
    parser.add_argument("--host", default=usual.host, help="where to listen; only this machine by default")
    parser.add_argument("--port", type=int, default=usual.port, help="0 picks a free one")
    parser.add_argument("--data", type=Path, default=_state_folder(), help="where the jobs are kept")
    parser.add_argument("--engine", default=usual.engine, help="embedded, vllm, or module:Class")
    parser.add_argument("--model", help="the folder of the engine's model")
    parser.add_argument("--devices", help="the devices for the engine, for example 1")
    parser.add_argument("--workers", type=_positive, default=usual.workers, help="jobs at a time")
    parser.add_argument("--timeout", type=float, default=usual.timeout, help="seconds that a job may take")
    parser.add_argument("--most-bytes", type=_positive, default=usual.most_bytes, help="of a transcript")
    parser.add_argument("--most-queued", type=_positive, default=usual.most_queued, help="jobs that may wait")
    parser.add_argument("--keep", type=_positive, default=usual.keep, help="ended jobs to remember")
    parser.add_argument(
        "--awake", metavar="NAME", help="hold a virtual device awake in the server, for example h100"
    )
    parser.add_argument(
        "--launch",
        choices=LAUNCHES,
        default=usual.launch,
        help="in a pool of warm workers, in a script that is started for each job, or in a fork, which shows "
        "how the work fails without coldfork, beside a device that is awake",
    )
    given = vars(parser.parse_args())
    given["data"] = given["data"].expanduser().absolute()
    return Settings(**given)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("1 is the least")
    return number


def _state_folder() -> Path:
    named = os.environ.get("XDG_STATE_HOME")
    return (Path(named) if named else Path("~/.local/state")) / "speech_notes"


if __name__ == "__main__":
    sys.exit(main())
