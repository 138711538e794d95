"""tokenizers: its pool, and the fork handler of its own that makes some forks harmless."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.observe.probing import ask

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc"),
    pytest.mark.must_hold,
]

PROGRAM = """
import warnings
warnings.simplefilter("ignore")
poller = states.Poller()
tell(before=state("tokenizers"))
from tokenizers import Tokenizer, models, pre_tokenizers
tokenizer = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
def encode():
    return len(tokenizer.encode_batch(["a b a"] * 5000))
tell(one=[len(tokenizer.encode("a b")), state("tokenizers")])
encode()
tell(many=state("tokenizers"), why=reason("tokenizers").partition("; ")[2], polled=poller.awake())
tell(unsafe=[one.unsafe_to_fork for one in states.examine() if one.accelerator == "tokenizers"])
AFTERWARDS
states.remember_for_children()
tell(child=in_child(lambda: [state("tokenizers")]), encoded=in_child(encode, seconds=5))
"""


def told(parallelism: str | None, afterwards: str = "") -> dict[str, Any]:
    """Return the program's output with a value of the variable and with an action before the fork."""
    program = PROGRAM.replace("AFTERWARDS", afterwards)
    return ask(program, environment={"TOKENIZERS_PARALLELISM": parallelism})


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("tokenizers")


def test_its_own_handler_saves_a_child_when_the_variable_is_not_set() -> None:
    said = told(None)
    assert said == {
        "before": ["absent", None],
        "one": [2, ["cold", None]],
        "many": ["awake", None],
        "why": "TOKENIZERS_PARALLELISM is not set, so its own handler lets a forked child go on without it",
        "polled": [["tokenizers", None]],
        "unsafe": [False],
        "child": [["cold", None]],
        "encoded": 5000,
    }


def test_a_child_is_poisoned_when_the_variable_asks_for_parallelism() -> None:
    said = told("true")
    assert said == {
        "before": ["absent", None],
        "one": [2, ["cold", None]],
        "many": ["awake", None],
        "why": "TOKENIZERS_PARALLELISM is set, so a forked child waits for it in vain",
        "polled": [["tokenizers", None]],
        "unsafe": [True],
        "child": [["poisoned", None]],
        "encoded": "ended with 14",
    }


def test_nothing_wakes_when_parallelism_is_off() -> None:
    said = told("false")
    assert said["many"] == ["cold", None]
    assert said["polled"] == []
    assert said["encoded"] == 5000


@pytest.mark.parametrize("value", ["false", "OFF", "0", ""])
def test_a_variable_that_says_no_before_the_fork_saves_the_child(value: str) -> None:
    """The pool is there and stays behind; the child encodes without one."""
    said = told("true", f"os.environ['TOKENIZERS_PARALLELISM'] = {value!r}")
    assert (said["many"], said["child"], said["encoded"]) == (["awake", None], [["cold", None]], 5000)
