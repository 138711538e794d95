"""The playground's side of Python: runs the command line on files that the page holds.

It runs in the reader's browser, where the whole of coldfork lies in the path. Files are kept in memory.
"""

from __future__ import annotations

import gc
import io
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

PROJECT = Path("/project")
#: The file of a baseline is none that the page takes, whatever a configuration says.
_NO_BASELINE = ("--baseline", "")


def check(request: str) -> str:
    """Check the files of a request, and answer with what the command prints, both as JSON."""
    asked = json.loads(request)
    _write(asked["files"])
    begun = perf_counter()
    status, output, notes = _command(*_check(asked), "--color", "always")
    seconds = perf_counter() - begun
    # The command that the report suggests is for the reader's own terminal.
    output = output.replace(f" {shlex.join(_NO_BASELINE)}", "")
    return json.dumps({"status": status, "output": output, "notes": notes, "seconds": seconds})


def mend(request: str) -> str:
    """Answer with what `--fix` and `--fix=unsafe` would change: each as a patch, and as the files changed."""
    asked = json.loads(request)
    fixes = {word: _mended(asked, flag) for word, flag in (("safe", "--fix"), ("unsafe", "--fix=unsafe"))}
    return json.dumps(fixes)


def _mended(asked: dict[str, Any], flag: str) -> dict[str, Any]:
    files = asked["files"]
    _write(files)
    _, patch, _ = _command(*_check(asked), "--diff", flag)
    if not patch:
        return {"patch": "", "files": {}}
    _command(*_check(asked), flag)
    now = {name: (PROJECT / name).read_bytes().decode() for name in files}
    return {"patch": patch, "files": {name: text for name, text in now.items() if text != files[name]}}


def _check(asked: dict[str, Any]) -> list[str]:
    profile = ["--profile", asked["profile"]] if asked["profile"] else []
    return ["check", *profile, "--target-version", asked["target"], *_NO_BASELINE]


def _write(files: dict[str, str]) -> None:
    """Let the project hold these files and nothing else; one that is the same keeps its time stamp."""
    PROJECT.mkdir(exist_ok=True)
    os.chdir(PROJECT)
    tops = {name.partition("/")[0] for name in files}
    for entry in PROJECT.iterdir():
        if entry.name in tops and entry.is_file():
            continue
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    for name, text in files.items():
        file = PROJECT / name
        content = text.encode("utf-8", "surrogatepass")
        if file.is_file() and file.read_bytes() == content:
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _command(*arguments: str) -> tuple[int, str, str]:
    """Run `coldfork` with these arguments: its exit status, its output and what it says beside that."""
    # Not its `main`, which ends the process: the page goes on.
    from coldfork.cli.main import cli

    streams = sys.stdout, sys.stderr
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
    sys.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
    status = 0
    try:
        cli.main(list(arguments), prog_name="coldfork")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 2
    finally:
        written = []
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            written.append(stream.buffer.getvalue().decode())
        sys.stdout, sys.stderr = streams
        gc.unfreeze()  # a command keeps what it made to its end, and this process goes on
    return status, written[0], written[1]
