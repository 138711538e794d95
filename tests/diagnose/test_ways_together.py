"""A console, a collector and a bug report may change a log one after the other: its story stays."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coldfork.diagnose.logs.envelopes import opened
from tests.diagnose import corpus
from tests.diagnose.running import only_story
from tests.diagnose.ways import STAGES

pytestmark = pytest.mark.once

LOGS = ("import_in_child-3.11.log", "executor-3.11.log", "pool-3.11.log")
NAMES = frozenset(name for stage in STAGES for name in stage)
#: One thing at each stage; a row that a console has wrapped at blanks cannot always be put together again.
ways = st.tuples(
    *(st.sampled_from([None, *(name for name in stage if name != "wrapped-at-words")]) for stage in STAGES)
)


def told(text: str) -> list[tuple[str, str, int | None]]:
    """Each story of a log with its place."""
    return [
        (
            story.name,
            story.culprit.path.replace("\\", "/").removeprefix("C:") if story.culprit else "",
            story.culprit.line if story.culprit else None,
        )
        for story in corpus.explained(text).stories
    ]


def gone(text: str, names: tuple[str | None, ...]) -> str:
    """The log after all of this has happened to it."""
    for stage, name in zip(STAGES, names, strict=True):
        text = stage[name](text) if name is not None else text
    return text


@pytest.mark.must_hold
@pytest.mark.parametrize("name", LOGS)
def test_each_way_by_itself_changes_nothing(name: str) -> None:
    plain = told(corpus.captured(name))
    assert len(NAMES) >= 30
    assert plain
    changed = [
        way for stage in STAGES for way, go in stage.items() if told(go(corpus.captured(name))) != plain
    ]
    assert changed == []


@pytest.mark.must_hold
@pytest.mark.parametrize("name", LOGS)
@given(names=ways)
@example(names=(None, "behind-vllm", "wrapped-at-80", "docker", "numbered"))
@example(names=("windows-paths", "behind-ray", "wrapped-at-120", "behind-compose", "behind-comment"))
@example(names=("coloured", "behind-klog", None, "behind-compose", "blank-lines"))
@example(names=("without-sources", "document", None, "docker", "behind-quoted"))
@example(names=("windows-paths", "escaped", "wrapped-at-80", "behind-compose", "grepped"))
@example(names=(None, "formatted", "wrapped-at-120", None, "blanks-behind"))
@example(names=(None, "document", "wrapped-at-80", "behind-kubernetes", "reported"))
@example(names=("coloured", "document", None, None, "smart-quotes"))
@example(names=("windows-paths", "behind-elastic", "wrapped-at-80", "behind-kubernetes", None))
def test_one_way_after_the_other_changes_nothing(name: str, names: tuple[str | None, ...]) -> None:
    wrapped = str(names[2]).startswith("wrapped")
    # Rows of a console cannot be told from lines where a line end, a colour or a prefix of as many
    # columns was cut in two, nor behind a prefix that no rule knows.
    loses = wrapped and names[1] == "behind-klog"
    loses |= wrapped and "colour" in str(names[0])
    loses |= names[3] == "behind-unknown" and (wrapped or names[4] == "reported")
    if not loses:
        assert told(gone(corpus.captured(name), names)) == told(corpus.captured(name))


COLAB = """\
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
<ipython-input-14-7bc4d2497e8a> in <module>()
     23 data = load()
---> 24 prepare(data)
     25 show(data)

1 frames
[/usr/local/lib/python3.10/dist-packages/torch/cuda/__init__.py](https://localhost:8080/#) in _lazy_init()
    296         if "CUDA_MODULE_LOADING" not in os.environ:
--> 298         torch._C._cuda_init()

RuntimeError: No CUDA GPUs are available
"""
PYTEST = """\
    def test_worker():
>       work()

tests/test_worker.py:9:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

    def work():
>       torch.cuda.init()

src/app/worker.py:97:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
>       torch._C._cuda_init()
E       RuntimeError: No CUDA GPUs are available

../venv/lib/python3.11/site-packages/torch/cuda/__init__.py:412: RuntimeError
"""
LINE = "\u2500" * 10
RICH = f"""\
\u256d{LINE} Traceback (most recent call last) {LINE}\u256e
\u2502 /srv/projects/a/long/path/to/the/program/train.p        \u2502
\u2502 y:24 in main                                            \u2502
\u2502                                                         \u2502
\u2502   23 \u2502   data = load()                                   \u2502
\u2502 \u2771 24 \u2502   torch.cuda.init()                               \u2502
\u2502   25 \u2502   show(data)                                      \u2502
\u2570{LINE * 5}\u256f
RuntimeError: No CUDA GPUs are available
"""


IN_A_CELL = COLAB.replace("<module>()", "<cell line: 24>()")
ONE_LINE = (
    'Traceback (most recent call last): File "run.py", line 9, in main() File "/srv/app/work.py", line 43, '
    'in work torch.cuda.init() File "/v/site-packages/torch/cuda/__init__.py", line 195, in _lazy_init raise '
    "RuntimeError( RuntimeError: No CUDA GPUs are available\n"
)
GLUED = """\
It says
``` File "/srv/app/work.py", line 43, in work
    torch.cuda.init()
  File "/v/site-packages/torch/cuda/__init__.py", line 195, in _lazy_init
    torch._C._cuda_init()
RuntimeError: No CUDA GPUs are available```
"""


@pytest.mark.parametrize(
    ("text", "path", "line", "source"),
    [
        (IN_A_CELL, "<ipython-input-14-7bc4d2497e8a>", 24, "prepare(data)"),
        (ONE_LINE, "/srv/app/work.py", 43, "torch.cuda.init()"),
        (GLUED, "/srv/app/work.py", 43, "torch.cuda.init()"),
        (
            "E0101 12:00:00.0 1402 app/train.py:97] RuntimeError: No HIP GPUs are available",
            "app/train.py",
            97,
            "",
        ),
        ("tests/test_a.py:12: RuntimeError: No CUDA GPUs are available", "tests/test_a.py", 12, ""),
        (COLAB, "<ipython-input-14-7bc4d2497e8a>", 24, "prepare(data)"),
        (PYTEST, "src/app/worker.py", 97, "torch.cuda.init()"),
        (RICH, "/srv/projects/a/long/path/to/the/program/train.py", 24, "torch.cuda.init()"),
    ],
    ids=["cell", "one-line", "glued", "glog", "pytest-line", "colab", "pytest", "rich"],
)
def test_other_notations_name_the_line_as_well(text: str, path: str, line: int, source: str) -> None:
    place = only_story(text).culprit
    assert place is not None
    assert (place.path, place.line, place.text) == (path, line, source)


def test_a_folder_of_windows_is_no_end_of_a_line() -> None:
    assert opened(r"reading C:\new\nodes\names.txt and D:\name") == (
        r"reading C:\new\nodes\names.txt and D:\name",
    )


def test_a_document_behind_a_prefix_waits_for_the_prefix_to_be_taken_off() -> None:
    document = 'worker-1  | {"log": "one\\ntwo\\n"}'
    assert opened(document, patient=True) == (document,)
    assert opened(document) == ("one", "two")


def test_a_log_that_begins_behind_a_prefix_begins_in_that_process() -> None:
    lines = corpus.captured("import_in_child-3.11.log").splitlines()[2:]
    cut = "\n".join([lines[0].strip(), *(f"worker-1  | {line}" for line in lines[1:])])
    assert [place for _, *place in told(cut)] == [["/srv/broken_engine/attention/flash.py", 12]]
    framed = 'File "/srv/app.py", line 7, in main\nworker-1  |     torch.cuda.init()\n'
    error = "worker-1  | RuntimeError: No CUDA GPUs are available\n"
    assert told(framed + error) == [("invalid-device", "/srv/app.py", 7)]


def test_where_a_logger_stands_is_no_place_beside_a_stack_nor_in_a_library_that_runs_others() -> None:
    error = "RuntimeError: No CUDA GPUs are available\n"
    assert only_story(f"E0101 12:00:00.0 7 torch/distributed/elastic/api.py:571] {error}").culprit is None
    prefix = "E0101 12:00:00.0 7 app/log.py:5] "
    stack = f'{prefix}  File "/srv/a.py", line 7, in f\n{prefix}{error}'
    assert told(stack) == [("invalid-device", "/srv/a.py", 7)]


def test_rows_that_were_filled_up_are_not_cut() -> None:
    rows = ("step one of the training is done".ljust(110) + "[1/100]", "step two is done".ljust(117))
    said = "RuntimeError: No CUDA GPUs are available"
    assert [name for name, *_ in told("\n".join((*rows, said, "")))] == ["invalid-device"]


def test_a_warning_behind_a_progress_bar_or_above_its_words_has_its_place() -> None:
    words = (
        "os.fork() was called. os.fork() is incompatible with multithreaded code, and JAX is multithreaded"
    )
    bar = "  0%|          | 0/100 [00:00<?, ?it/s"
    expected = [("threads-at-fork", "/srv/app/mp.py", 66)]
    assert told(f"{bar}/srv/app/mp.py:66: RuntimeWarning: {words}\n  self.pid = os.fork()\n") == expected
    assert told(f"/srv/app/mp.py:66: RuntimeWarning:\n\n{words}\n") == expected


def test_what_is_indented_and_quoted_is_code_and_no_message() -> None:
    words = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use"
    assert [told(f"{before}{words}{behind}\n")[:1] for before, behind in (("    ", ""), ('    "', '"'))] == [
        [("cuda-in-forked-child", "", None)],
        [],
    ]
