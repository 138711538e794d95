"""Runs the beginning of a program once, and each end of it in a child forked from there.

The beginning is the first argument. Each line of standard input asks for one child, as JSON: the file of
the program that goes on, its variables, its folder, and where its output goes. Each line of standard output
is the exit status of one.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any


def begin(code: str) -> dict[str, Any]:
    """Run the beginning as a program and return its names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "<beginning>", "exec"), names)
    return names


def go_on(request: dict[str, Any], names: dict[str, Any]) -> int:
    """Be the program that was asked for, and return its exit status."""
    for descriptor, file in enumerate((os.devnull, request["output"], request["errors"])):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(file, flags, 0o600), descriptor)
    os.chdir(request["folder"])
    os.environ.update(request["variables"])
    script = Path(request["script"])
    sys.argv[:] = [str(script)]
    status = 0
    try:
        exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), names)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def main() -> None:
    """Begin, and fork for every line that comes."""
    names = begin(sys.argv[1])
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if not child:
            os._exit(go_on(json.loads(line), names))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
