"""Pages that are read as a reader reads them: files are written, commands run, and outputs compared.

A block with a title is a file, or, of the kind `diff`, what changes in one; a block of the kind `console` is
a command with what it prints, both streams in one.
`python -m tests.pages PAGE` writes anew what the commands of a page print.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FRAMES = re.compile(r"(?<=^Traceback \(most recent call last\):\n)(?: +.*\n)+", re.MULTILINE)
_SETTLED = (
    (r"(?<=in )[\d.]+\s+m?s\b", "TIME"),
    (r"(?<=at )[\d.]+ s\b", "TIME"),
    (r"(?<=process )\d+", "PID"),
    (r"(?<=\(pid )\d+", "PID"),
    (r"loaded \d+ modules|(?<=cold \()\d+ modules", "N modules"),
    (r"\S+/recordings/run-[\d-]+\.coldfork", "RUN.coldfork"),
    (r"packages: read from\s+\S+,\s+coldfork's own\s+environment", "packages: read from PACKAGES"),
    # Only Python 3.12 and newer name the call into C.
    (r"^   2\. (?:driver\.)?cuInit +", "   2. cuInit  "),
    (r" +$", ""),
)


@dataclass(frozen=True)
class Block:
    """A file to write or to change, or a command to run."""

    kind: str
    file: str
    command: str
    text: str
    """What the file holds, what changes in it, or what the command prints."""


def blocks(text: str) -> list[Block]:
    """What a page, or a part of one, asks a reader to write and to type."""
    found = []
    for kind, title, body in _FENCE.findall(text):
        if title:
            found.append(Block(kind, title, "", body))
        elif kind == "console":
            head, _, rest = body.partition("\n")
            found.append(Block(kind, "", head.removeprefix("$ "), rest))
    return found


def write(block: Block, folder: Path) -> None:
    """Write or change a file where the page says."""
    file = folder / block.file
    file.parent.mkdir(parents=True, exist_ok=True)
    text = block.text
    if block.kind == "diff":
        old, new = ("".join(re.findall(rf"^\{sign}(.*\n)", block.text, re.MULTILINE)) for sign in "-+")
        before = file.read_text(encoding="utf-8")
        assert before.count(old) == 1, old
        text = before.replace(old, new)
    file.write_text(text, encoding="utf-8")


def run(command: str, folder: Path, cache: Path) -> str:
    """What a command prints that is typed in this folder."""
    program, *arguments = shlex.split(command)
    assert program in ("coldfork", "python"), command
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")}
    return subprocess.run(
        [sys.executable, *(("-m", "coldfork") if program == "coldfork" else ()), *arguments],
        cwd=folder,
        env=kept
        | {"PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
        | {"COLDFORK_CACHE_DIR": str(cache), "COLDFORK_STATE_DIR": str(folder / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    ).stdout


def shortened(text: str, folder: Path) -> str:
    """As a page shows it: paths from this folder on, and tracebacks without their frames."""
    return _FRAMES.sub("  ...\n", text.replace(f"{folder}/", ""))


def settled(text: str) -> str:
    """Without what differs from run to run: times, numbers of processes, counts of what Python loads."""
    for pattern, put in _SETTLED:
        text = re.sub(pattern, put, text, flags=re.MULTILINE)
    return text


def tried(text: str, folder: Path, cache: Path) -> str:
    """The same text with what its commands print here."""
    for block in blocks(text):
        if block.file:
            write(block, folder)
        else:
            printed = shortened(run(block.command, folder, cache), folder)
            shown = f"```console\n$ {block.command}\n{block.text}```"
            text = text.replace(shown, f"```console\n$ {block.command}\n{printed}```", 1)
    return text


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        with tempfile.TemporaryDirectory() as made:
            home = Path(made).resolve()
            written = tried(page.read_text(encoding="utf-8"), home / "page", home / "cache")
        written = re.sub(r"\S*state/recordings/", "~/.local/state/coldfork/recordings/", written)
        page.write_text(
            written.replace(sysconfig.get_path("purelib"), "venv/lib/python3.11/site-packages"), "utf-8"
        )
