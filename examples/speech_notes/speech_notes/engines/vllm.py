"""An engine for a machine that has one: vLLM with any model of yours, from a local folder.

A language model may change what was said. Of what it punctuates, only a passage that has kept every word is
taken; the rules do the others, and the remarks say how many those were.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from speech_notes.engines import EngineError, punctuation
from speech_notes.engines.summary import split

PUNCTUATE = "Add punctuation and capital letters to this transcript. Change no words.\n\n{text}"
SUMMARISE = "Summarise this text in at most five short sentences.\n\n{text}"
SUMMARY_TOKENS = 160
LONGER = 1.6
"""How much longer a passage may become by its marks, in tokens."""
_WORDS = re.compile(r"[^\W_]+")


class VllmEngine:
    """Punctuates and summarises with a language model in vLLM."""

    about = (
        "A language model punctuates, and a passage in which it changed a word is punctuated by rules "
        "instead. The summary is in the model's own words, and a model can be wrong."
    )

    preload = ("vllm.entrypoints.llm",)

    def __init__(self, model: str | None = None) -> None:
        if model is None:
            raise EngineError("the engine vllm needs a model: --model FOLDER")
        if not Path(model).is_dir():
            raise EngineError(
                f"there is no model in {model!r}; nothing is downloaded, so name a local folder"
            )
        try:
            from vllm import LLM
        except ImportError as error:
            raise EngineError(f"the engine vllm needs vLLM: {error}") from error
        # An engine that lives for one transcript would not make up for what it takes to compile it.
        self._llm: Any = LLM(model=model, enforce_eager=True, disable_log_stats=True)
        self._tokenizer: Any = self._llm.get_tokenizer()
        self._longest = int(self._llm.llm_engine.model_config.max_model_len)
        self._passages = 0
        self._by_rules = 0

    def punctuate(self, passage: str) -> str:
        """The passage as the model punctuates it, if it kept the words; else as the rules do."""
        self._passages += 1
        room = int(len(self._tokenizer.encode(passage)) * LONGER) + 8
        answer = self._answer(PUNCTUATE.format(text=passage), room)
        if answer is not None and answer and _spoken(answer) == _spoken(passage):
            return answer
        self._by_rules += 1
        return punctuation.punctuate(passage)

    def summarise(self, text: str) -> Sequence[str]:
        """Return the model's summary of a text; of a long one, a summary of the summaries of its parts."""
        while True:
            parts = list(_parts(text, self._fits))
            answers = [self._answer(SUMMARISE.format(text=part), SUMMARY_TOKENS) or "" for part in parts]
            shorter = "\n".join(filter(None, answers))
            # A model that does not shorten would go on for ever.
            if len(parts) <= 1 or len(shorter) >= len(text):
                return split(shorter)
            text = shorter

    def remarks(self) -> Sequence[str]:
        """In how many passages the model was not trusted."""
        if not self._by_rules:
            return ()
        share = f"{self._by_rules} of {self._passages} passages"
        return (f"In {share} the model did not keep the words, or had no room for them; rules did those.",)

    def _fits(self, text: str) -> bool:
        return len(self._asked(SUMMARISE.format(text=text))) + SUMMARY_TOKENS <= self._longest

    def _asked(self, question: str) -> list[int]:
        """The question as the model wants to be asked."""
        if getattr(self._tokenizer, "chat_template", None):
            message = [{"role": "user", "content": question}]
            question = self._tokenizer.apply_chat_template(
                message, tokenize=False, add_generation_prompt=True
            )
            tokens: list[int] = self._tokenizer.encode(question, add_special_tokens=False)
        else:
            tokens = self._tokenizer.encode(f"{question}\n\n")
        return tokens

    def _answer(self, question: str, room: int) -> str | None:
        """The model's likeliest answer; None where question and answer are longer than it can think."""
        from vllm import SamplingParams

        tokens = self._asked(question)
        if len(tokens) + room > self._longest:
            return None
        wanted = SamplingParams(temperature=0, max_tokens=room)
        (done,) = self._llm.generate([{"prompt_token_ids": tokens}], wanted, use_tqdm=False)
        said: str = done.outputs[0].text
        return said.strip()


def _spoken(text: str) -> list[str]:
    return _WORDS.findall(text.casefold())


def _parts(text: str, fits: Callable[[str], bool]) -> list[str]:
    """The text in as few parts as fit, cut between words and as evenly as can be."""
    words = text.split(" ")
    if fits(text) or len(words) < 2:
        return [text]
    half = len(words) // 2
    return [*_parts(" ".join(words[:half]), fits), *_parts(" ".join(words[half:]), fits)]
