"""A log's way to its reader changes neither the story nor the line."""

from __future__ import annotations

import html
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldfork.model.diagnosis import Story
from tests.diagnose import corpus

pytestmark = pytest.mark.once

LOGS = ("import_in_child-3.11.log", "truncated_speculative_decoding.log")
PREFIXES = (
    "(EngineCore_DP0 pid=680) ERROR 09-30 18:32:41 [core.py:708] ",
    "(EngineCore_DP0 pid=680) ",
    "[rank0]: ",
    "[default1]:",
    "(VllmWorker rank=1 pid=7) ",
    "(train_fn pid=1234, ip=10.0.0.1) ",
    "2026-09-30 18:32:41,123 ERROR ",
    "2026-09-30T18:32:41.123456Z stderr F ",
    "worker-1  | ",
    "Sep 30 18:32:41 host engine[33]: ",
    "E0930 18:32:41.123456 680 torch/distributed/elastic/multiprocessing/api.py:571] ",
    "app-7f9c> ",
    "\x1b[1;36m(EngineCore_DP0 pid=680)\x1b[0;0m ",
)
prefixes = st.sampled_from(PREFIXES)


def told(text: str) -> tuple[str, str, int | None]:
    """Story, file and line of the only story of a log."""
    (story,) = corpus.explained(text).stories
    return _essence(story)


def _essence(story: Story) -> tuple[str, str, int | None]:
    assert story.culprit is not None
    return story.name, story.culprit.path.replace("\\", "/").rpartition("/")[2], story.culprit.line


EXPECTED = {
    LOGS[0]: ("cuda-in-forked-child", "flash.py", 12),
    LOGS[1]: ("cuda-in-forked-child", "flash_attn.py", 175),
}


@pytest.mark.parametrize("name", LOGS)
@given(prefix=prefixes)
def test_behind_a_prefix(name: str, prefix: str) -> None:
    assert told(corpus.prefixed(corpus.captured(name), prefix)) == EXPECTED[name]


@pytest.mark.parametrize("name", LOGS)
@given(prefix=prefixes, other=prefixes, every=st.integers(1, 7))
def test_between_lines_of_another_process(name: str, prefix: str, other: str, every: int) -> None:
    noise = [f"{other.replace('680', '99').replace('rank', 'rank4')}{line}" for line in corpus.NOISE]
    text = corpus.prefixed(corpus.captured(name), prefix)
    if prefix != other:
        text = corpus.interleaved(text, noise, every)
    assert told(text) == EXPECTED[name]


@pytest.mark.parametrize("name", LOGS)
def test_wrapped_by_a_terminal(name: str) -> None:
    """At any width: at some of them a line that nobody cut is as long as those that were."""
    text = corpus.captured(name)
    wrong = [width for width in range(60, 201) if told(corpus.wrapped(text, width)) != EXPECTED[name]]
    assert wrong == []


@pytest.mark.parametrize("name", LOGS)
@given(prefix=prefixes)
def test_in_colours_in_docker_and_with_the_ends_of_lines_of_windows(name: str, prefix: str) -> None:
    text = corpus.prefixed(corpus.captured(name), prefix)
    assert told(corpus.in_docker(corpus.coloured(text))) == EXPECTED[name]
    assert told(text.replace("\n", "\r\n")) == EXPECTED[name]


@pytest.mark.parametrize("name", LOGS)
@given(data=st.data())
def test_cut_off_anywhere_it_is_the_same_story_or_none(name: str, data: st.DataObject) -> None:
    text = corpus.captured(name)
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, len(text)))
    for story in corpus.explained(text[begin:end]).stories:
        assert story.name == "cuda-in-forked-child"
        if story.culprit is not None:
            assert story.culprit.path.endswith((".py", EXPECTED[name][1]))


@pytest.mark.parametrize("name", LOGS)
@given(data=st.data())
def test_without_some_lines_of_its_middle_no_other_line_is_guilty(name: str, data: st.DataObject) -> None:
    lines = corpus.captured(name).splitlines(keepends=True)
    begin = data.draw(st.integers(1, len(lines) - 1))
    length = data.draw(st.integers(1, 6))
    for story in corpus.explained("".join([*lines[:begin], "...\n", *lines[begin + length :]])).stories:
        assert story.name == "cuda-in-forked-child"


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize(
    "document",
    [
        {"level": "ERROR", "message": "the worker died", "exc_info": None},
        {"event": "the worker died", "exception": None},
        {"message": "the worker died", "stack_trace": None},
        {"message": "the worker died", "error": {"stack_trace": None}},
        {"traceback": None},
    ],
    ids=lambda document: list(document)[-1],
)
def test_in_a_field_of_a_structured_log(name: str, document: dict[str, Any]) -> None:
    filled = json.loads(json.dumps(document).replace("null", json.dumps(corpus.captured(name))))
    assert told(f'{{"message": "started"}}\n{json.dumps(filled)}\n') == EXPECTED[name]
    assert told(f"2026-09-30T18:32:41.123456Z stdout F {json.dumps(filled)}\n") == EXPECTED[name]


@pytest.mark.parametrize("name", LOGS)
def test_on_one_line_with_its_line_ends_escaped(name: str) -> None:
    text = corpus.captured(name)
    assert told(f"ERROR the worker died: {text!r}\n") == EXPECTED[name]
    escaped = json.dumps(text).strip('"')
    assert told(f"ERROR the worker died: {escaped}\n") == EXPECTED[name]


@pytest.mark.parametrize("form", ["{number}:{line}", "{number:6}\t{line}", "worker.log:{number}:{line}"])
def test_with_the_lines_numbered(form: str) -> None:
    lines = corpus.captured(LOGS[0]).splitlines()
    text = "".join(f"{form.format(number=n, line=line)}\n" for n, line in enumerate(lines, 95))
    (story,) = corpus.explained(text).stories
    assert _essence(story) == EXPECTED[LOGS[0]]
    assert [process.name for process in story.processes] == ["ForkProcess-1"]


def test_numbers_alone_are_no_log() -> None:
    assert corpus.explained("1\n2\n3\n4\n5\n").stories == ()


def test_ranks_in_front_of_the_lines_still_tell_the_processes_apart() -> None:
    lines = corpus.captured(LOGS[0]).splitlines()
    text = "".join(f"0: {line}\n1: {line}\n" for line in lines)
    assert told(text) == EXPECTED[LOGS[0]]


@pytest.mark.parametrize("name", LOGS)
def test_copied_from_a_page(name: str) -> None:
    text = corpus.captured(name)
    assert told(html.escape(text)) == EXPECTED[name]
    assert told(text.replace(' "', " \u201c").replace('"', "\u201d")) == EXPECTED[name]


def test_paths_of_windows() -> None:
    text = corpus.captured(LOGS[0]).replace("/srv/", "C:\\srv\\")
    assert told(text.replace("/opt/python/lib/python3.11/", "C:\\Python311\\Lib\\")) == EXPECTED[LOGS[0]]


def test_in_the_encoding_of_powershell() -> None:
    from coldfork.diagnose.explaining import explain, read_log

    stream = io.BytesIO(corpus.captured(LOGS[0]).encode("utf-16"))
    (story,) = explain([read_log(stream, None)]).stories
    assert _essence(story) == EXPECTED[LOGS[0]]


GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/srv/a.py", line 1, in <module>
  | ExceptionGroup: workers (1 sub-exception)
  +-+---------------- 1 ----------------
"""


def test_in_a_group_of_exceptions() -> None:
    text = corpus.captured(LOGS[0]).split("\n", 1)[1]
    inner = corpus.prefixed(text, "    | ")
    assert told(f"{GROUP}{inner}    +------------------------------------\n") == EXPECTED[LOGS[0]]


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reading(data: bytes) -> None:
    from coldfork.diagnose.explaining import explain, read_log

    assert explain([read_log(io.BytesIO(data), None)]).stories == ()
