"""The embedded engine: what its rules write, and what they never do, whatever the text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.once

EXAMPLE = Path(__file__).parents[2] / "examples" / "speech_notes"
KNOWN = [
    "i",
    "we",
    "it",
    "so",
    "okay",
    "what",
    "is",
    "can",
    "and",
    "but",
    "because",
    "said",
    "the",
    "gpu",
    "x",
]
SENTENCES = ["The server forks.", "It failed on Monday!", "Why?", "We mended the tests."]


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """Let the example's package be imported."""
    sys.path.insert(0, str(EXAMPLE))
    yield
    sys.path.remove(str(EXAMPLE))


def punctuate(text: str) -> str:
    written: str = import_module("speech_notes.engines.embedded").Embedded().punctuate(text)
    return written


def summarise(text: str) -> list[str]:
    return list(import_module("speech_notes.engines.embedded").Embedded().summarise(text))


def spoken(text: str) -> str:
    """Return a text as it is heard."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        ("hello", "Hello."),
        ("what about the tests", "What about the tests?"),
        ("is it ready", "Is it ready?"),
        ("do that first", "Do that first."),
        ("where did you put it", "Where did you put it?"),
        (
            "john said it will be ready on monday i think we should test it first",
            "John said it will be ready on Monday. I think we should test it first.",
        ),
        ("they met in april and it was good", "They met in April and it was good."),
        (
            "we have no idea what they want it's a great pity can you ask them again",
            "We have no idea what they want. It's a great pity. Can you ask them again?",
        ),
        ("i know that i'm late but we can begin", "I know that I'm late, but we can begin."),
        ("okay the gpu was down", "Okay, the GPU was down."),
        ("the talk was so good so we stayed", "The talk was so good. So we stayed."),
        # A text that somebody has punctuated keeps its sentences.
        (
            "We met john. he was late, as we all were; still, we began!",
            "We met john. He was late, as we all were; still, we began!",
        ),
        ("is this the end?", "Is this the end?"),
        ("and this,", "And this."),
        # Recognised in capitals, read in small letters.
        (
            "HELLO WE ARE HERE FOR THE WEATHER IT IS COLD",
            "Hello we are here for the weather. It is cold.",
        ),
        ("iPhone sales are up", "iPhone sales are up."),
        ("one part\n\nanother\npart", "One part.\n\nAnother part."),
        ("<b>bold</b> words", "<B>bold</b> words."),
        ("   ", ""),
    ],
)
def test_what_the_rules_write(raw: str, written: str) -> None:
    assert punctuate(raw) == written


@pytest.mark.must_hold
@settings(max_examples=150, deadline=None)
@given(st.text(max_size=120))
def test_no_word_is_added_removed_or_moved_in_any_text(text: str) -> None:
    assert spoken(punctuate(text)) == spoken(text)


@pytest.mark.must_hold
@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "i",
                "we",
                "you",
                "it",
                "so",
                "okay",
                "what",
                "is",
                "do",
                "can",
                "and",
                "but",
                "because",
                "said",
                "the",
                "test",
                "gpu",
            ]
        )
    )
)
def test_no_word_is_changed_where_the_rules_know_them_all(words: list[str]) -> None:
    written = punctuate(" ".join(words))
    assert [word.strip(".,?").lower() for word in written.split()] == words


def test_what_is_punctuated_stays_as_it_is_when_it_is_punctuated_again() -> None:
    raw = "so we found the line on tuesday i think we should mend it what about the tests can you write them"
    once = punctuate(raw)
    assert once.count(".") + once.count("?") == 4
    assert punctuate(once) == once


def test_a_long_text_is_cut_into_passages_between_sentences() -> None:
    processing = import_module("speech_notes.engines.processing")
    raw = " ".join(f"we counted {number} lines of the report on monday" for number in range(100))
    passages = processing.units(raw)
    assert " ".join(passages) == raw
    assert len(passages) > 5
    assert all(passage.startswith("we counted") for passage in passages)
    assert all(len(passage.split()) <= processing.PASSAGE_WORDS for passage in passages)


def test_the_summary_takes_what_the_text_is_about_and_not_twice() -> None:
    about = "The worker was forked from a server that held the GPU."
    text = (
        f"It was raining in the morning. {about} Somebody brought cake. {about} The server held the GPU "
        "when the worker failed. Coffee was late again. The mended worker is started by a server that is not "
        "forked. Thank you all for coming."
    )
    summary = summarise(text)
    assert about in summary
    assert summary.count(about) == 1
    assert not any("cake" in sentence or "raining" in sentence for sentence in summary)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(SENTENCES)))
def test_a_summary_is_made_of_sentences_of_the_text_in_their_order(sentences: list[str]) -> None:
    summary = summarise(" ".join(sentences))
    places = iter(sentences)
    assert all(any(one == place for place in places) for one in summary)
    assert len(summary) <= 7
    assert bool(summary) == bool(sentences)


def test_a_note_tells_how_far_it_is_and_an_engine_that_is_none_is_refused() -> None:
    processing = import_module("speech_notes.engines.processing")
    engines = import_module("speech_notes.engines")
    told: list[tuple[int, ...]] = []
    embedded = engines.make("embedded", None)
    note = processing.process("one\n\ntwo", lambda: embedded, lambda *step: told.append(step))
    assert note["paragraphs"] == ["One.", "Two."]
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    for name in ("nothing", "json:nothing", "no.such.module:Engine", "json:dumps", ":", "json:"):
        with pytest.raises(engines.EngineError):
            engines.find(name)


class Script:
    """A model that answers what it was told to; the tokens of its tokenizer are words."""

    def __init__(self, longest: int, answers: dict[str, str]) -> None:
        self.longest = longest
        self.answers = answers


def vllm_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script) -> Any:
    """The engine for vLLM around a model that follows a script; `./dev integration` has the real one."""
    import types

    class Llm:
        llm_engine = types.SimpleNamespace(model_config=types.SimpleNamespace(max_model_len=script.longest))

        def __init__(self, **_: Any) -> None:
            self.words: list[str] = []

        def get_tokenizer(self) -> Any:
            def encode(text: str) -> list[int]:
                start = len(self.words)
                self.words += text.split()
                return list(range(start, len(self.words)))

            return types.SimpleNamespace(encode=encode, chat_template=None)

        def generate(self, prompts: Any, wanted: Any, use_tqdm: bool) -> Any:
            (prompt,) = prompts
            asked = " ".join(self.words[token] for token in prompt["prompt_token_ids"])
            assert len(prompt["prompt_token_ids"]) + wanted.max_tokens <= script.longest
            said = next((said for part, said in script.answers.items() if part in asked), "")
            return [types.SimpleNamespace(outputs=[types.SimpleNamespace(text=said)])]

    vllm: Any = types.ModuleType("vllm")
    vllm.LLM = Llm
    vllm.SamplingParams = types.SimpleNamespace
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    return import_module("speech_notes.engines.vllm").VllmEngine(str(tmp_path))


def test_a_model_that_changes_words_is_not_trusted_with_that_passage(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = {"we met": " We met -- on Monday! ", "they left": "They departed."}
    engine = vllm_engine(monkeypatch, tmp_path, Script(400, answers))
    assert engine.punctuate("we met on monday") == "We met -- on Monday!"
    assert engine.remarks() == ()
    assert engine.punctuate("they left") == "They left."
    assert spoken(engine.punctuate("word " * 300)) == "word" * 300
    (remark,) = engine.remarks()
    assert remark.startswith("In 2 of 3 passages the model did not keep the words")


def test_a_text_longer_than_the_model_is_summarised_in_parts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "We met. " * 100 + "They left. " * 100
    answers = {"A. B.": "In the end: A and B.", "They left.": "B.", "We met.": "A."}
    engine = vllm_engine(monkeypatch, tmp_path, Script(400, answers))
    summary = engine.summarise(text)
    assert summary
    assert set(summary) <= {"A.", "B.", "In the end: A and B."}
