"""Programs that capture a graph around state of theirs, and what a replay on another batch then gives.

A file holds several programs behind `=== name: outcome` lines: `right` and `wrong` say what a replay gives,
compared with the same program run eagerly on that batch; `refused` says that there is none. `@TAIL` and
`@TAILR` stand for a capture of `forward` and of a `Runner`; `@@ name.py` begins a module beside it.
`tests/source/test_captured_states.py` asks virtual capture for the outcome and the analyser for what it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_TAIL = """
def capture(hidden):
    {make}{step}(hidden)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = {step}(hidden)
    return graph, out
"""


class Program(NamedTuple):
    """One program: its files, the main one first, and what its replay gives."""

    name: str
    outcome: str
    files: dict[str, str]


def programs() -> list[Program]:
    """All programs."""
    return [one for path in sorted(Path(__file__).parent.glob("*.txt")) for one in _read(path)]


def _read(path: Path) -> Iterator[Program]:
    for part in path.read_text(encoding="utf-8").removeprefix("=== ").split("\n=== "):
        head, _, body = part.partition("\n")
        name, _, outcome = head.rpartition(": ")
        body = body.replace("@TAILR", _TAIL.format(make="runner = Runner()\n    ", step="runner.forward"))
        main, *beside = body.replace("@TAIL", _TAIL.format(make="", step="forward")).split("@@ ")
        files = {"program.py": main}
        files |= dict(one.split("\n", 1) for one in beside)
        texts = {file: f"import torch\n{text.rstrip()}\n" for file, text in files.items()}
        yield Program(f"{path.stem}: {name}", outcome, texts)
