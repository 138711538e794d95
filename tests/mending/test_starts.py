"""Fixes of lines that start processes, or say how they are to be started."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path

import pytest

from coldfork.model.causes import Applicability, Fix
from tests.mending.conftest import Mend

UNSAFE = Applicability.UNSAFE
SETTING = """\
import multiprocessing


class Streamer:
    def __init__(self):
        multiprocessing.set_start_method("fork", force=True)
        self.queue = multiprocessing.Queue()
        self.process = multiprocessing.Process(target=print)
"""
FORKING = """\
from multiprocessing import Process, Queue

import torch


def work(queue):
    queue.put(torch.ones(1, device="cuda"))


def main():
    torch.cuda.init()
    queue = Queue()
    Process(target=work, args=(queue,)).start()


if __name__ == "__main__":
    main()
"""
UNGUARDED = """\
import multiprocessing


def work(i):
    return i * i


# Spawn them.
with multiprocessing.get_context("spawn").Pool(2) as pool:
    text = '''a
b'''
    print(pool.map(work, range(4)), text)
print("done")


def later():
    return 1
"""
LATE = """\
import os

import torch


def main(gpu):
    # It warms up.
    torch.cuda.get_device_name()
    os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)  # for the rest
    return torch.ones(1, device="cuda")


if __name__ == "__main__":
    main(1)
"""
LOCAL = """\
from torch.utils.data import DataLoader


def collate_of(pad, *, width: int = 2):
    \"\"\"Make one.\"\"\"

    # It helps.
    def one(row):
        return pad(row, width)

    def collate(batch):
        return [one(each) for each in batch], [pad for pad in batch]

    return collate


def load(rows):
    loader = DataLoader(rows, collate_fn=collate_of(max), num_workers=4, multiprocessing_context="spawn")
    for each in loader:
        print(each)


if __name__ == "__main__":
    load([1])
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            SETTING,
            SETTING.replace('        multiprocessing.set_start_method("fork", force=True)\n', "")
            .replace("multiprocessing.Queue", 'multiprocessing.get_context("fork").Queue')
            .replace("multiprocessing.Process", 'multiprocessing.get_context("fork").Process'),
            id="a method that a library sets",
        ),
        pytest.param(
            FORKING,
            FORKING.replace("from multi", "import multiprocessing\nfrom multi", 1)
            .replace(" Queue()", ' multiprocessing.get_context("spawn").Queue()')
            .replace("    Process(", '    multiprocessing.get_context("spawn").Process('),
            id="a fork behind a wake",
        ),
        pytest.param(
            UNGUARDED,
            UNGUARDED.replace("with ", 'if __name__ == "__main__":\n    with ')
            .replace("    text", "        text")
            .replace("    print(pool", "        print(pool")
            .replace('print("done")', '    print("done")'),
            id="no guard",
        ),
        pytest.param(
            LATE,
            LATE.replace('    os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)  # for the rest\n', "").replace(
                "    # It",
                '    os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)  # for the rest\n    # It',
            ),
            id="a variable that is set late",
        ),
        pytest.param(
            'import multiprocessing\n\nif __name__ == "__main__":\n    results = multiprocessing.Queue()\n'
            '    multiprocessing.set_start_method("spawn")\n',
            'import multiprocessing\n\nif __name__ == "__main__":\n'
            '    multiprocessing.set_start_method("spawn")\n    results = multiprocessing.Queue()\n',
            id="a method that is set late",
        ),
    ],
)
def test_a_start_is_mended_where_it_stands(mended: Mend, before: str, after: str) -> None:
    done = mended({"pkg/a.py": before}, UNSAFE)
    assert done.files[0].after.decode() == after
    assert done.report.findings == ()
    assert mended({"pkg/a.py": before}).files == ()
    assert mended({"pkg/a.py": after}, UNSAFE).files == ()


def test_a_local_function_becomes_an_object_that_can_be_sent(mended: Mend, tmp_path: Path) -> None:
    done = mended({"pkg/a.py": LOCAL}, UNSAFE)
    assert done.report.findings == ()
    text = done.files[0].after.decode()
    assert "    # It helps.\n    def one(self, row):\n        return self.pad(row, self.width)\n" in text
    assert 'def collate_of(pad, *, width: int = 2):\n    """Make one."""\n    return _CollateOf(' in text
    module = tmp_path / "module.py"
    # Only what the module defines: torch is of no use here.
    module.write_text(text.partition("\n")[2].partition("def load")[0], encoding="utf-8")
    made = runpy.run_path(str(module))["collate_of"](max)
    assert made([1, 5]) == ([2, 5], [1, 5])
    assert made.__dict__ == {"pad": max, "width": 2}
    assert pickle.loads(pickle.dumps(made.__dict__)) == made.__dict__


def test_a_method_on_which_others_rely_is_shown_without_its_line(mended: Mend) -> None:
    text = SETTING.partition("        self")[0]
    done = mended({"pkg/a.py": text}, UNSAFE)
    assert done.files == ()
    (fix,) = done.left.values()
    assert isinstance(fix, Fix)
    assert fix.applicability is Applicability.SHOWN
    assert fix.reason == 'everything that relies on the method "fork" is made in other modules'
    assert [edit.text for edit in fix.edits] == ["pass"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            UNGUARDED.replace("return 1", "return text"),
            "line 17 needs `text`",
        ),
        (
            LATE.replace("str(gpu)", "name").replace("    torch.cuda.get", "    name = torch.cuda.get"),
            "it needs `name`, which is bound in between",
        ),
        (
            LOCAL.replace("    return collate\n", "    print(1)\n    return collate\n"),
            "collate_of does more than make collate",
        ),
        (
            LOCAL.replace("pad(row, width)", "__pad(row, width)"),
            "`__pad` would mean another name inside a class",
        ),
    ],
)
def test_a_start_that_depends_on_more_is_left(mended: Mend, text: str, reason: str) -> None:
    done = mended({"pkg/a.py": text}, UNSAFE)
    assert done.files == ()
    (left,) = done.left.values()
    assert left.reason == reason
