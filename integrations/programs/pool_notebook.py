"""Runs the cells of a notebook in a kernel: a pool calls functions that are defined in cells."""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient

CELLS = (
    "import coldfork, os, time\npool = coldfork.WorkerPool(2)",
    "factor = 3\ndef times(value):\n    return factor * value",
    "print(pool.submit(times, 4).result(60), list(pool.map(lambda value: value + factor, range(3))))",
    "factor = 5\nprint(pool.submit(times, 4).result(60))",
    "class Point:\n    def __init__(self, x):\n        self.x = x",
    "def move(point):\n    return Point(point.x + 1)",
    "print(isinstance(pool.submit(move, Point(1)).result(60), Point))",
    "print(type(pool.submit(os._exit, 3).exception(60)).__name__, pool.submit(times, 2).result(60))",
    "def fail():\n    raise KeyError('meant')\nprint(repr(pool.submit(fail).exception(60)))",
    "import asyncio\nloop = asyncio.get_running_loop()\nprint(await loop.run_in_executor(pool, times, 6))",
    "pool.shutdown()",
)


def main() -> None:
    """Run them, and print what they print."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    for cell in notebook.cells:
        for output in cell.outputs:
            print(output.get("text", "").strip())


if __name__ == "__main__":
    main()
