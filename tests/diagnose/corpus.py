"""Logs for tests: captured ones, real failures that are no story, and what happens to logs on their way."""

from __future__ import annotations

import io
import json
import traceback
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from coldfork.diagnose.explaining import explain, read_log
from coldfork.model.diagnosis import Explanation
from tests.diagnose.unrelated.failures import PYTHON, TEXTS

HERE = Path(__file__).resolve().parent
CAPTURED = HERE / "captured"


def explained(text: str) -> Explanation:
    """Explain a log with this text."""
    return explain([read_log(io.BytesIO(text.encode("utf-8", "surrogatepass")), "a.log")])


def captured(name: str) -> str:
    """A log that was captured from a program of this repository."""
    return (CAPTURED / name).read_text(encoding="utf-8")


@cache
def _raised(program: str) -> str:
    try:
        exec(compile(program, "/srv/train_on_gpu.py", "exec"), {"__name__": "train"})
    except BaseException:
        return traceback.format_exc()
    raise AssertionError(f"this program does not fail: {program}")


def unrelated() -> Iterator[tuple[str, str]]:
    """Failures that are no story, each as it is and as services and workers log it."""
    for number, said in enumerate((*map(_raised, PYTHON), *TEXTS)):
        yield f"{number}-plain", said
        yield f"{number}-worker", f"Process ForkProcess-{number}:\n{said}"
        yield (
            f"{number}-engine",
            prefixed(said, "(EngineCore_DP0 pid=680) ERROR 09-30 18:32:41 [core.py:708] "),
        )


NOISE = (
    "INFO 09-30 18:32:41 [cuda.py:290] Using Flash Attention backend on V1 engine.",
    "DEBUG forked worker 3 of 8, device cuda:3",
    "100%|##########| 67/67 [00:21<00:00, GPU 0]",
    "uvicorn.error - Started server process [123]",
)


def prefixed(text: str, prefix: str) -> str:
    """Every line behind a prefix."""
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def interleaved(one: str, other: Sequence[str], every: int) -> str:
    """Lines of another process among those of a log."""
    lines = []
    for number, line in enumerate(one.splitlines()):
        lines.append(line)
        if number % every == 0:
            lines.append(other[number // every % len(other)])
    return "\n".join(lines) + "\n"


def wrapped(text: str, width: int) -> str:
    """Cut at a width, as terminals do."""
    return "".join(
        f"{line[start : start + width]}\n"
        for line in text.splitlines()
        for start in range(0, max(1, len(line)), width)
    )


def in_docker(text: str) -> str:
    """As Docker's json-file driver keeps it."""
    return "".join(
        json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-09-30T18:32:41.1Z"}) + "\n"
        for line in text.splitlines()
    )


def coloured(text: str) -> str:
    """In the colours that vLLM and Python 3.13 use."""
    return "".join(f"\x1b[31m{line}\x1b[0m\n" for line in text.splitlines())
