"""A process that has imported pytest, and nothing else, and forks one that runs it for each line it reads.

A line is a request as JSON: the arguments, the folder, the variables, and the file for what is printed. A
line of its output is the exit status of one. What has been forked begins and ends as `python -m pytest` does.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Serve, and be what was asked for in the child."""
    from _pytest.config import default_plugins

    for name in default_plugins:
        import_module(f"_pytest.{name}")
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if not child:
            become(json.loads(line))
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become(request: dict[str, Any]) -> None:
    """Run pytest; what it exits with goes on to the end of the interpreter."""
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    for descriptor, other in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
        os.dup2(other, descriptor)
    os.closerange(3, 64)
    os.environ.clear()
    os.environ.update(request["variables"])
    os.chdir(request["folder"])
    sys.path[0] = request["folder"]
    sys.argv[1:] = request["arguments"]
    sys.orig_argv[1:] = ["-m", "pytest", *request["arguments"]]
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)


main()
