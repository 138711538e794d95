"""Fixes of what is sent to processes: moved to module level, where `pickle` finds it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from coldfork.model.causes import Applicability
from tests.mending.conftest import Mend

UNSAFE = Applicability.UNSAFE
#: Each function sends something else that is local; the program prints what comes back.
SENDING = '''\
import multiprocessing


class Rows:
    size = 3

    def doubled(self, scale):
        import math

        offset = 1

        # It scales.
        def _one(row: int, more=0) -> float:
            """Scale one."""
            text = """a
        b"""
            return math.floor(row * scale) + offset + more + len(text) * self.size

        with multiprocessing.Pool(1) as pool:
            return pool.map(_one, range(self.size))


def plain(pool):
    def square(row):
        return row * row if row < 2 else square(row - 1)

    def other(square):
        return square

    return pool.map(square, [1, 2]) + [square(3), other(4)]


def unnamed(pool, k):
    def third():
        import k

    return pool.map(lambda row: row + k, [1, 2])


def kept(pool):
    task = lambda row, *, by=2: [each for each in range(row * by)]
    return pool.map(task, [1, 2])


if __name__ == "__main__":
    with multiprocessing.Pool(1) as pool:
        print(plain(pool), unnamed(pool, 5), kept(pool))
        print(Rows().doubled(1.5))
'''
LOADING = """\
import torch
from torch.utils.data import DataLoader


def load(rows, pad, count):
    torch.cuda.init()
    loader = DataLoader(rows, collate_fn=lambda batch: torch.ones(pad, device="cuda"), num_workers=WORKERS)
    for batch in loader:
        print(batch)


if __name__ == "__main__":
    load([1], 2, 3)
"""
GUARDED = """\
import multiprocessing

if __name__ == "__main__":
    k = 3
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(lambda row: row + k, [1]))
"""
CLASS = """\
import multiprocessing


def main():
    class Local:
        pass

    context = multiprocessing.get_context("spawn")
    context.Process(target=print, args=(Local(),)).start()


if __name__ == "__main__":
    main()
"""


def _run(program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=False
    )


def test_what_is_local_is_sent_after_it_was_moved(mended: Mend, tmp_path: Path) -> None:
    done = mended({"pkg/a.py": SENDING}, UNSAFE)
    assert done.report.findings == ()
    assert re.search("Can't (pickle|get) local object", _run(tmp_path / "pkg" / "a.py").stderr)
    text = done.files[0].after.decode()
    program = tmp_path / "mended.py"
    program.write_text(text, encoding="utf-8")
    ended = _run(program)
    assert ended.stdout == "[1, 1, 1, 4] [6, 7] [[0, 1], [0, 1, 2, 3]]\n[34, 35, 37]\n", ended.stderr
    assert (
        "# It scales.\ndef _plain_one(scale, offset, self, row: int, more=0) -> float:\n    import math"
        not in text
    )
    assert mended({"pkg/a.py": text}, UNSAFE).files == ()


@pytest.mark.parametrize(("workers", "context"), [("4", '"spawn"'), ("count", '"spawn" if count else None')])
def test_what_forked_workers_need_not_be_sent_is_moved_with_the_method(
    mended: Mend, workers: str, context: str
) -> None:
    done = mended({"pkg/a.py": LOADING.replace("WORKERS", workers)}, UNSAFE)
    assert done.report.findings == ()
    text = done.files[0].after.decode()
    assert (
        f"functools.partial(_collate_fn, pad), num_workers={workers}, multiprocessing_context={context})"
        in text
    )
    assert mended({"pkg/a.py": text}, UNSAFE).files == ()


def test_what_stands_below_the_guard_is_sent_with_a_lambda(mended: Mend, tmp_path: Path) -> None:
    program = tmp_path / "mended.py"
    program.write_bytes(mended({"pkg/a.py": GUARDED}, UNSAFE).files[0].after)
    ended = _run(program)
    assert ended.stdout == "[4]\n", ended.stderr


def test_a_local_class_is_moved(mended: Mend) -> None:
    done = mended({"pkg/a.py": CLASS}, UNSAFE)
    assert done.report.findings == ()
    text = done.files[0].after.decode()
    assert "\n\nclass _Local:\n    pass\n\n\ndef main():\n" in text
    assert "args=(_Local(),)" in text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "k = 1\n    task = lambda row: row + k\n    k = 2\n    p.map(task, [1])",
            "`k` is bound again below it",
        ),
        ("def g():\n        pass\n    p.map(lambda row: g(), [1])", "it needs `g`, which is local, too"),
        ("k = 1\n    p.map(lambda row, by=k: row, [1])", "it needs `k` when it is defined"),
        ("[p.map(lambda row: row + i, [1]) for i in range(2)]", "a comprehension around it binds `i`"),
        (
            (
                "try:\n        import os\n    except ImportError:\n        os = None\n"
                "    p.map(lambda row: os and os.getpid(), [1])"
            ),
            "`os` is imported or something else",
        ),
        ("import os\n    p.map(lambda row: os.getpid(), [1])", "the lambda needs `import os`"),
        (
            "@print\n    def g(row):\n        return row\n    p.map(g, [1])",
            "g has a decorator",
        ),
        (
            "k = 1\n    def g(row):\n        return g(row - k) if row else k\n    p.map(g, [1])",
            "g calls itself, and reads `k` of the function around it",
        ),
        (
            "def g(row):\n        nonlocal n\n        n = row\n    n = 0\n    p.map(g, [1])",
            "it changes `n`",
        ),
        (
            "def g(row):\n        return _g, _main_g\n    p.map(g, [1])",
            "the file has a `_g` and a `_main_g` of its own",
        ),
    ],
)
def test_what_needs_the_function_around_it_is_left(mended: Mend, body: str, reason: str) -> None:
    text = f"import multiprocessing\n\n\ndef main():\n    p = multiprocessing.Pool(2)\n    {body}\n"
    done = mended({"pkg/a.py": f'{text}\n\nif __name__ == "__main__":\n    main()\n'}, UNSAFE)
    assert done.files == ()
    (left,) = done.left.values()
    assert left.reason == reason
