"""A real Chromium without a window, spoken to through a pipe: no port, no driver, no further dependency."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--remote-debugging-pipe",
)
PATIENCE = 180.0
#: The browser reads commands from descriptor 3 and answers on 4.
LAUNCH = """
import fcntl, os, sys
reading, writing = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 50) for number in sys.argv[1:3])
os.dup2(reading, 3)
os.dup2(writing, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find() -> str | None:
    """The program, or None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextlib.contextmanager
def opened(profile: Path, width: int, height: int) -> Iterator[Browser]:
    """A browser with a window of this size; a test that needs one is skipped where there is none."""
    program = find()
    if program is None:
        pytest.skip("no Chromium is installed")
    started = Browser(program, profile)
    try:
        started.resize(width, height)
        yield started
    finally:
        started.close()


class Browser:
    """One page in one Chromium; `requests` holds the address of everything that was fetched."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, our_writing = os.pipe()
        our_reading, from_browser = os.pipe()
        command = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(to_browser), str(from_browser), *command],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._reading, self._writing = our_reading, our_writing
        self._numbers = itertools.count(1)
        self._held = b""
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._events: list[dict[str, Any]] = []
        self._attach()

    def close(self) -> None:
        """End the browser and everything it started."""
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            self._session = None
            self.ask("Browser.close")
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._reading)
        os.close(self._writing)

    def processor_seconds(self) -> float:
        """What the browser's processes have taken of the processors so far."""
        ticks = 0
        for file in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = file.read_text().rpartition(")")[2].split()
                if int(fields[3]) == self._process.pid:  # of its session
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command of the DevTools protocol and wait for its answer."""
        number = self._send(method, self._session, parameters)
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._notice(answer)

    def _send(self, method: str, session: str | None, parameters: dict[str, Any]) -> int:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        return number

    def open(self, page: Path | str) -> None:
        """Load a page, a file or an address, and wait until it has been laid out."""
        self._events.clear()
        self.ask("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._notice(self._next())
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, script: str) -> Any:
        """The value of a script in the page."""
        # What the page's policy forbids to the page is allowed to the debugger.
        done = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(str(done["exceptionDetails"]))
        return done["result"].get("value")

    def press(self, key: str, *, shift: bool = False, control: bool = False) -> None:
        """Press and release a key."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "Home": 36}
        codes |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        fields: dict[str, Any] = {"key": key, "modifiers": 8 * shift + 2 * control}
        fields["windowsVirtualKeyCode"] = codes.get(key, ord(key.upper()[0]))
        if len(key) == 1 or key == "Enter":
            fields["text"] = "\r" if key == "Enter" else key
        self.ask("Input.dispatchKeyEvent", type="keyDown", **fields)
        fields.pop("text", None)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **fields)

    def type(self, text: str) -> None:
        """Write into what has the focus."""
        self.ask("Input.insertText", text=text)

    def resize(self, width: int, height: int) -> None:
        """Give the page this size."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, scheme: str) -> None:
        """Let the system prefer light or dark."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, file: Path) -> None:
        """Save a picture of what is to be seen."""
        file.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def _attach(self) -> None:
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        # A worker waits until it is known, so that nothing is missed of what it fetches.
        self.ask("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    def _next(self) -> dict[str, Any]:
        deadline = monotonic() + PATIENCE
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._reading], [], [], max(0, deadline - monotonic()))
            chunk = os.read(self._reading, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self._held += chunk
        message, _, self._held = self._held.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _notice(self, event: dict[str, Any]) -> None:
        if "method" not in event:
            return  # the answer to something that nobody waits for
        self._events.append(event)
        parameters = event.get("params", {})
        match event["method"]:
            case "Target.attachedToTarget":
                for method in ("Network.enable", "Runtime.runIfWaitingForDebugger"):
                    self._send(method, parameters["sessionId"], {})
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(parameters["exceptionDetails"]))
            case "Log.entryAdded":
                self.complaints.append(parameters["entry"]["text"])
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(parameters["args"]))
