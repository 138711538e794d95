"""Recordings as a watched program would leave them, built line by line for the tests that read them."""

from __future__ import annotations

import json
from typing import Any

from coldfork.model.timelines import Recording
from coldfork.report.recordings.assembly import files

BACKEND = "vllm.v1.attention.backends.flash_attn"
BACKEND_PATH = "vllm/v1/attention/backends/flash_attn.py"


def state(
    accelerator: str, status: str, level: str | None = None, reason: str | None = None
) -> dict[str, Any]:
    """One state as the recorder writes it."""
    return {
        "accelerator": accelerator,
        "status": status,
        "level": level,
        "reason": reason,
        "library": None,
        "waker": None,
    }


def frame(path: str, line: int, function: str = "<module>") -> dict[str, Any]:
    """One frame of a stack."""
    return {"path": path, "line": line, "function": function}


COLD = (state("cuda", "cold"),)
AWAKE = (state("cuda", "awake", "context"),)
POISONED = (state("cuda", "poisoned", None, "forked from 100, where cuda was awake"),)


class Tape:
    """Writes the lines of a recording in the order in which a recorder would."""

    def __init__(self, **header: Any) -> None:
        self.lines: list[str] = []
        self.write(
            {
                "event": "header",
                "schema_version": 1,
                "tool": "coldfork 0.1.0",
                "started": "2026-11-21T10:00:00+00:00",
                "python": "3.12.4",
                "platform": "linux-x86_64",
                "command": ["python", "serve.py", "--workers", "2"],
                "cwd": "/srv/app",
                "limit": 67108864,
                "device": "virtual:h100",
                "environment": {"CUDA_VISIBLE_DEVICES": "0"},
                **header,
            }
        )

    def write(self, line: dict[str, Any]) -> None:
        self.lines.append(json.dumps(line))

    def event(self, event: str, t: float, pid: int = 100, tid: int | None = None, **fields: Any) -> Tape:
        self.write({"event": event, "t": t, "pid": pid, "tid": pid if tid is None else tid, **fields})
        return self

    def process(self, t: float = 0.0, pid: int = 100, ppid: int = 1, how: str = "run", **fields: Any) -> Tape:
        fields = {"command": ["python", "serve.py"], "states": COLD, **fields}
        return self.event("process", t, pid, ppid=ppid, how=how, **fields)

    def load(
        self, module: str, start: float, seconds: float, parent: str | None = None, pid: int = 100
    ) -> Tape:
        path = f"{module.replace('.', '/')}.py"
        end = round(start + seconds, 6)
        fields: dict[str, Any] = {
            "module": module,
            "path": path,
            "start": start,
            "seconds": seconds,
            "parent": parent,
        }
        return self.event("import", end, pid, **fields)

    def wake(self, t: float, pid: int = 100, accelerator: str = "cuda", **waker: Any) -> Tape:
        told = {
            "module": BACKEND,
            "path": BACKEND_PATH,
            "line": 175,
            "function": "FlashAttentionMetadataBuilder",
            "call": "torch.cuda.get_device_capability",
            "thread": "MainThread",
            "import_chain": [
                {"module": "engine", "path": "engine/__init__.py", "line": 3},
                {"module": BACKEND, "path": BACKEND_PATH, "line": None},
            ],
            "stack": [
                frame(BACKEND_PATH, 175, "FlashAttentionMetadataBuilder"),
                frame("vllm/attention/utils/fa_utils.py", 56, "get_flash_attn_version"),
            ],
            **waker,
        }
        return self.event("wake", t, pid, accelerator=accelerator, level="context", waker=told)

    def fork(self, t: float, child: int | None, pid: int = 100, line: int = 12, **fields: Any) -> Tape:
        stack = [frame("serve.py", 30), frame("serve.py", line, "start_workers")]
        fields = {"stack": stack, "states": AWAKE, "thread": "MainThread", **fields}
        return self.event("fork", t, pid, child=child, **fields)

    def exit(self, t: float, pid: int = 100, **fields: Any) -> Tape:
        fields = {"status": 0, "signal": None, "states": COLD, **fields}
        return self.event("exit", t, pid, **fields)

    @property
    def content(self) -> bytes:
        return "".join(line + "\n" for line in self.lines).encode()

    def read(self, name: str = "run.coldfork") -> Recording:
        return files.recording(self.content.splitlines(keepends=True), name)


def cold() -> Tape:
    """A program that imports torch and wakes nothing."""
    tape = Tape().process()
    tape.load("torch._C", 0.1, 0.2, "torch").load("torch", 0.05, 1.0).load("app", 1.1, 0.25)
    return tape.exit(2.0)


def poisoned(workers: int = 2) -> Tape:
    """A server that imports a waking backend and then forks workers, which die of it."""
    tape = Tape().process()
    tape.load("torch._C", 0.12, 0.3, "torch").load("torch.nn", 0.5, 0.4, "torch").load("torch", 0.1, 1.2)
    tape.wake(1.9)
    tape.load(BACKEND, 1.4, 0.6, "engine").load("engine", 1.35, 0.7)
    tape.event("effect", 1.2, kind="starts-threads", what="libgomp: 8 threads", stack=[])
    for index in range(workers):
        at = round(2.5 + 0.1 * index, 3)
        pid = 101 + index
        tape.fork(at, pid)
        tape.process(at + 0.01, pid, 100, "fork", states=POISONED)
        tape.exit(at + 0.9, pid, status=1, states=POISONED)
    return tape.exit(6.0, status=1, states=AWAKE)
