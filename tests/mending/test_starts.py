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
CHOOSING = """\
import os

import torch


def choose(gpu, name="1"):
    os.environ["CUDA_VISIBLE_DEVICES"] = value


def main(gpu):
    torch.cuda.init()
    choose(gpu)
    return torch.ones(1, device="cuda")


if __name__ == "__main__":
    main(1)
"""
MIXED = """\
import multiprocessing
from multiprocessing import Lock


def work(queue, lock):
    queue.put(1)


def main():
    context = multiprocessing.get_context("spawn")
    results = multiprocessing.Queue()
    lock = Lock()
    process = context.Process(target=work, args=(results, lock))
    process.start()


if __name__ == "__main__":
    main()
"""
DAEMON = """\
import multiprocessing


def work():
    multiprocessing.Process(target=print).start()


def main():
    multiprocessing.Process(target=work, daemon=True).start()


if __name__ == "__main__":
    main()
"""
SETTING_LATE = """\
import multiprocessing

if __name__ == "__main__":
    results = multiprocessing.Queue()
SET
"""
MADE = """\
from multiprocessing import Process

import torch


def work():
    return torch.ones(1, device="cuda")


def made():
    MADE


class Runner:
    def run(self):
        torch.cuda.init()
        STARTED


if __name__ == "__main__":
    Runner().run()
"""
KEPT = """\
from multiprocessing import Process

import torch


def work():
    return torch.ones(1, device="cuda")


class Runner:
    def __init__(self):
        self.process = Process(target=work)

    def run(self):
        torch.cuda.init()
        self.process.start()


if __name__ == "__main__":
    Runner().run()
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
            FORKING.replace("Process(", 'multiprocessing.get_context("fork").Process(')
            .replace("from multiprocessing import Process, Queue", "import multiprocessing")
            .replace("Queue()", 'multiprocessing.get_context("fork").Queue()'),
            FORKING.replace("Process(", 'multiprocessing.get_context("spawn").Process(')
            .replace("from multiprocessing import Process, Queue", "import multiprocessing")
            .replace("Queue()", 'multiprocessing.get_context("spawn").Queue()'),
            id="a fork that is stated, behind a wake",
        ),
        pytest.param(
            MIXED,
            MIXED.replace("multiprocessing.Queue()", 'multiprocessing.get_context("spawn").Queue()').replace(
                "lock = Lock()", 'lock = multiprocessing.get_context("spawn").Lock()'
            ),
            id="a queue and a lock of another context",
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


@pytest.mark.parametrize(
    ("value", "written", "reason"),
    [
        ("str(gpu)", "torch.cuda.set_device(gpu)", "the device is chosen by its number"),
        ("name", 'torch.cuda.set_device(int(name.split(",")[0]))', "the device is chosen by its number"),
        ("'2,3'", "torch.cuda.set_device(2)", "the device is chosen by its number"),
        ("''", "pass", "devices can no longer be hidden"),
    ],
)
def test_a_variable_behind_a_wake_of_another_function_is_shown_as_a_choice(
    mended: Mend, value: str, written: str, reason: str
) -> None:
    text = CHOOSING.replace("value", value)
    done = mended({"pkg/a.py": text}, UNSAFE)
    assert done.files == ()
    (fix,) = done.left.values()
    assert isinstance(fix, Fix)
    assert fix.applicability is Applicability.SHOWN
    assert fix.reason.startswith(reason)
    assert [edit.text for edit in fix.edits] == [written]


def test_a_daemon_that_starts_processes_is_shown_without_its_flag(mended: Mend) -> None:
    done = mended({"pkg/a.py": DAEMON}, UNSAFE)
    assert done.files == ()
    (fix,) = done.left.values()
    assert isinstance(fix, Fix)
    assert fix.applicability is Applicability.SHOWN
    assert fix.reason == "a process that is not a daemon has to be ended by the code that starts it"
    assert [(edit.line, edit.text) for edit in fix.edits] == [(9, "False")]


@pytest.mark.parametrize(
    ("made", "started", "where"),
    [
        ("return Process(target=work)", "made().start()", "another function makes the process"),
        (
            "return Process(target=work)",
            "process = made()\n        process.start()",
            "and it has a name here",
        ),
    ],
)
def test_a_process_is_mended_in_the_function_that_makes_it(
    mended: Mend, made: str, started: str, where: str
) -> None:
    text = MADE.replace("MADE", made).replace("STARTED", started)
    done = mended({"pkg/a.py": text}, UNSAFE)
    assert done.report.findings == (), where
    assert 'return multiprocessing.get_context("spawn").Process(target=work)' in done.files[0].after.decode()


def test_a_process_is_mended_in_the_method_that_keeps_it(mended: Mend) -> None:
    text = KEPT
    done = mended({"pkg/a.py": text}, UNSAFE)
    assert done.report.findings == ()
    assert 'self.process = multiprocessing.get_context("spawn").Process(' in done.files[0].after.decode()


def test_an_executor_without_arguments_is_told_its_context(mended: Mend) -> None:
    head, _, _ = SETTING.partition("        self")
    pool = "        self.pool = ProcessPoolExecutor()\n"
    text = f"from concurrent.futures import ProcessPoolExecutor\n{head}{pool}"
    done = mended({"pkg/a.py": text}, UNSAFE)
    assert done.report.findings == ()
    assert (
        'ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork"))' in done.files[0].after.decode()
    )


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
            SETTING_LATE.replace("SET", '    method = "spawn"\n    multiprocessing.set_start_method(method)'),
            "it needs `method`, which is bound in between",
        ),
    ],
)
def test_a_start_that_depends_on_more_is_left(mended: Mend, text: str, reason: str) -> None:
    done = mended({"pkg/a.py": text}, UNSAFE)
    assert done.files == ()
    (left,) = done.left.values()
    assert left.reason == reason


def test_a_fork_that_is_fine_once_the_import_stays_cold_is_left(mended: Mend) -> None:
    text = """\
import multiprocessing

import torch


class Kernel:
    major = torch.cuda.get_device_capability()[0]


def work():
    print(torch.zeros(1, device="cuda"), Kernel.major)


def launch():
    multiprocessing.get_context("fork").Process(target=work).start()


if __name__ == "__main__":
    launch()
"""
    done = mended({"pkg/a.py": text}, UNSAFE)
    assert done.report.findings == ()
    assert len(done.mended) == 1
    assert 'get_context("fork").Process' in done.files[0].after.decode()
