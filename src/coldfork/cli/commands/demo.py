"""`coldfork demo`: writes a small program with a bug, and shows the commands that find and mend it."""

from __future__ import annotations

import shutil
import tempfile
import time
from importlib import import_module
from pathlib import Path

import click

from coldfork.cli import output
from coldfork.cli.conventions import debug_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.cli.demos.steps import Demo

DEMOS = {
    "engine": "an engine whose import wakes the GPU: its worker crashes",
    "forks": "a server that asks the GPU and forks afterwards",
    "dataloader": "a DataLoader whose workers use the GPU (needs torch)",
    "graph": "a CUDA graph that leaves out what the warm-up did (needs torch)",
    "log": "a log of a crash, explained",
}
NEED_TORCH = frozenset({"dataloader", "graph"})

_EPILOG = """\b
Examples:
  coldfork demo              from the line to the crash, and from the fix to the proof
  coldfork demo forks        another one; coldfork demo --list lists them
  coldfork demo --keep       keep the files, to try more with them

\b
Exit status: 0 every step came out as expected, 1 one did not, 2 wrong usage, or torch is missing where
the demonstration needs it, 130 interrupted.
Next: coldfork check PATH, on code of your own.
"""


@click.command(epilog=_EPILOG)
@click.argument("name", type=click.Choice(list(DEMOS)), default="engine")
@click.option("--keep", is_flag=True, help="Keep the folder with the program, and print its path.")
@click.option("--list", "listed", is_flag=True, help="List the demonstrations.")
@debug_option
@click.pass_context
def demo(context: click.Context, /, name: str, *, keep: bool, listed: bool) -> None:
    """Break and mend a small program, step by step.

    The program is written to a temporary folder. The commands that find its line, crash it and mend it are
    run there, and their output is shown. No GPU is needed: the device is virtual.
    """
    if listed:
        output.write("".join(f"{one:<12}{what}\n" for one, what in DEMOS.items()))
        return
    from coldfork.launch.plumbing.ask import command_signals

    with command_signals():
        context.exit(_walk(name, keep=keep))


def _walk(name: str, *, keep: bool) -> int:
    from coldfork.cli.demos.walk import Walk, filled, machine

    here = machine()
    if name in NEED_TORCH and not here.torch:
        output.note(f"the demonstration {name} needs torch, which is not installed here; try coldfork demo")
        return 2
    demo: Demo = import_module(f"coldfork.cli.demos.{name}").demo(here)
    start = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="coldfork-demo-")).resolve()
    try:
        walk = Walk(demo, folder, here, colour=output.wants_colour("auto"))
        output.write(
            filled(f"This is {demo.title}, written for this demonstration: {', '.join(demo.shown())}.\n")
        )
        walk.write()
        walk.go()
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    output.write(f"\n{filled(walk.outcome(time.monotonic() - start))}")
    if keep:
        output.write(f"The files are in {folder}\n")
    return 1 if walk.differed else 0
