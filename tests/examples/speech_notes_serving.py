"""The speech notes as a person runs them: a real server on a free port, spoken to in real HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "speech_notes"
PATIENCE = 120.0
MOST_BYTES = 20_000
ENDS = ("done", "failed", "killed", "cancelled")

ENGINE = '''
import os
import subprocess
import sys
import time
from pathlib import Path

# In the server: on a slow machine the last answers may take longer, and it is not about that.
if "uvicorn" in sys.modules:
    sys.modules["__main__"].LAST_WORDS = 60

from speech_notes.engines.embedded import Embedded

HERE = Path(__file__).parent


class Held(Embedded):
    """The embedded engine, which waits, fails or changes its mind when a passage says so."""

    about = "An engine of the tests."
    seen = []

    def punctuate(self, passage):
        if passage.startswith("hold "):
            (HERE / f"held-{os.getpid()}").touch()
            while not (HERE / "go").exists():
                time.sleep(0.01)
        if passage.startswith("fail "):
            raise ValueError("<img src=x onerror=stolen=1> & no such luck")
        if passage.startswith("die "):
            print("<b>so long</b>", "and thanks", sep="\\n", file=sys.stderr)
            os._exit(7)
        if passage.startswith("show "):
            return f"Devices: {os.environ.get('CUDA_VISIBLE_DEVICES')}."
        if passage.startswith("remember "):
            self.seen.append(passage)
            return f"{os.getpid()} has seen {len(self.seen)}."
        if passage.startswith("start "):
            child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            (HERE / "child").write_text(str(child.pid))
            return self.punctuate("hold on")
        return super().punctuate(passage)
'''
"""An engine that can be stopped in the middle of its work, and from outside."""
LAUNCHES = ("pool", "isolated")
"""The ways in which it works beside a device that is awake."""


def until(happened: Callable[[], Any], what: str) -> Any:
    """Wait until a call gives something, and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := happened()):
        if time.monotonic() > deadline:
            raise AssertionError(f"it never came to this: {what}")
        time.sleep(0.02)
    return found


class Answer:
    """A response: status, headers, and the body."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Server:
    """`python -m speech_notes` with a data folder of its own."""

    def __init__(self, folder: Path, *options: str, engine: str | None = "held:Held") -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "held.py").write_text(ENGINE, encoding="utf-8")
        self._errors = (folder / "errors").open("a", encoding="utf-8")
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "speech_notes", "--port", "0", "--data", str(folder / "data")),
                *("--most-bytes", str(MOST_BYTES), *options),
                *(() if engine is None else ("--engine", engine)),
            ],
            cwd=EXAMPLE,
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")},
                "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(folder))),
                # Side by side, so that the virtual driver is compiled once.
                "COLDFORK_CACHE_DIR": str(folder.parent / "cache"),
                # Whoever else leases devices meanwhile keeps none from it.
                "COLDFORK_STATE_DIR": str(folder / "state"),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.said: list[str] = []
        self.host = "127.0.0.1"
        self._port: int | None = None

    @property
    def port(self) -> int:
        """Its port, as soon as it has told."""
        if self._port is None:
            assert self.process.stdout is not None
            for line in self.process.stdout:
                self.said.append(line.rstrip("\n"))
                if line.startswith("speech notes: http://"):
                    self.host, _, port = line.strip().removeprefix("speech notes: http://").rpartition(":")
                    self._port = int(port)
                    break
            else:
                raise AssertionError(f"the server did not start: {self.errors()}")
        return self._port

    @property
    def address(self) -> str:
        """Return the address that a person opens."""
        port = self.port
        return f"http://{self.host}:{port}/"

    def errors(self) -> str:
        """Return the server's standard error, with that of its predecessors in this folder."""
        return (self.folder / "errors").read_text(encoding="utf-8")

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        *,
        chunked: bool = False,
    ) -> Answer:
        """One request on a connection of its own."""
        connection = self._connection()
        with contextlib.closing(connection):
            # A server that has seen enough may answer and hang up while the rest is still being sent.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, body, headers or {}, encode_chunked=chunked)
            return Answer(connection.getresponse())

    def _connection(self) -> http.client.HTTPConnection:
        port = self.port
        return http.client.HTTPConnection(self.host, port, timeout=PATIENCE)

    def submit(self, text: str) -> str:
        """Send a transcript, and give the id of its job."""
        answer = self.ask("POST", "/transcripts", text.encode(), {"content-type": "text/plain"})
        assert answer.status == 202, answer.body
        name: str = answer.json["id"]
        return name

    def job(self, name: str) -> Any:
        """How a job stands."""
        answer = self.ask("GET", f"/jobs/{name}")
        assert answer.status == 200, answer.body
        return answer.json

    def ended(self, name: str) -> Any:
        """A job when it has ended."""
        return until(lambda: job if (job := self.job(name))["state"] in ENDS else None, f"{name} ended")

    def events(self, name: str) -> Iterator[Any]:
        """The job each time the server says that it has changed."""
        connection = self._connection()
        with contextlib.closing(connection):
            connection.request("GET", f"/jobs/{name}/events", headers={"accept": "text/event-stream"})
            response = connection.getresponse()
            assert response.status == 200
            assert response.headers["content-type"].startswith("text/event-stream")
            deadline = time.monotonic() + PATIENCE
            for line in response:
                # The server says now and then that it is still there, and could do so for ever.
                assert time.monotonic() < deadline, f"{name} has not ended"
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])

    # --- work that is held ---

    def logged(self) -> str:
        """Return the output of the processes that did the work, as far as it was kept."""
        data = self.folder / "data"
        return "".join(
            path.read_text(encoding="utf-8") for path in [*data.glob("workers/*"), *data.glob("runs/*/std*")]
        )

    def left(self) -> list[Path]:
        """The files by which a job spoke with the server that are still there."""
        return [path for name in ("notes", "steps") for path in (self.folder / "data").glob(f"{name}/*")]

    def held(self) -> int:
        """The process whose engine waits, as soon as there is one; it is reported once."""
        found = until(lambda: list(self.folder.glob("held-*")), "an engine waits")
        found[0].unlink()
        return int(found[0].name.partition("-")[2])

    def go(self) -> None:
        """Let every engine go on, those that come later included."""
        (self.folder / "go").touch()

    def hold(self) -> None:
        """Let engines wait that come from now on; what others have left is forgotten."""
        (self.folder / "go").unlink(missing_ok=True)
        for mark in self.folder.glob("held-*"):
            mark.unlink()

    # --- its end ---

    def stop(self) -> None:
        """Ask it to end, as a service manager does; it ends in good order, and then by that very signal."""
        # Only a server that answers ends in good order; without a browser nobody has waited for that.
        self.ask("GET", "/")
        self.process.send_signal(signal.SIGTERM)
        assert self._reap() == -signal.SIGTERM, self.errors()
        assert "Application shutdown complete" in self.errors()
        assert "graceful" not in self.errors()

    def kill(self) -> None:
        """End it without asking."""
        self.process.kill()
        self._reap()

    def _reap(self) -> int:
        status = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()
        return status


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"
