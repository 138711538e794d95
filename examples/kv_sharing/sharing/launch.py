"""Starts two engines with the method that was asked for, or that coldfork chooses, and lets them share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from signal import Signals
from typing import TYPE_CHECKING, Any

import coldfork
from sharing import worker
from sharing.layout import BLOCK_BYTES
from sharing.store import Store
from sharing.worker import Job, Setting

if TYPE_CHECKING:
    from sharing.engine import Outcome

_ANSWER_SECONDS = 300.0
_END_SECONDS = 30.0


class EngineError(RuntimeError):
    """An engine did not answer; the message says why."""


@dataclass(frozen=True)
class Answer:
    """One line of what is printed at the end."""

    engine: str
    prompt: str
    outcome: Outcome | None
    """None if the engine was killed."""
    same: bool | None = None
    """Whether every score is, bit for bit, what the engine computes without any memory."""
    trouble: str | None = None


@dataclass(frozen=True)
class Shared:
    """The result of a run."""

    method: str
    because: str
    answers: tuple[Answer, ...]


class Engine:
    """An engine process and the way to it."""

    def __init__(self, context: Any, name: str, store: Store, setting: Setting) -> None:
        self.name = name
        self._jobs, theirs = context.Pipe()
        self.process = context.Process(target=worker.main, args=(theirs, store, setting), name=name)
        self.process.start()
        theirs.close()

    def ask(self, job: Job) -> Outcome:
        """Have a prompt continued."""
        try:
            self._jobs.send(job)
            if not self._jobs.poll(_ANSWER_SECONDS):
                raise EngineError(f"the {self.name} engine has not answered for {_ANSWER_SECONDS:g} s")
            answer: Outcome | str = self._jobs.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            raise EngineError(f"the {self.name} engine {_ended(self.process.exitcode)}") from None
        if isinstance(answer, str):
            raise EngineError(f"the {self.name} engine failed: {answer}")
        return answer

    def end(self) -> None:
        """Let it go: tell it that nothing more will come."""
        with suppress(OSError):
            self._jobs.send(None)
        self._jobs.close()
        self.process.join(_END_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def share(
    prompts: dict[str, list[int]],
    count: int,
    method: str | None = None,
    *,
    slots: int = 256,
    setting: Setting | None = None,
    dies_at: int | None = None,
) -> Shared:
    """The first engine reads the first prompt; the second reads all of them, with what the first has left.

    With `dies_at` the first engine is killed in the middle of storing that block.
    """
    setting = setting or Setting()
    decision = coldfork.decide()
    context = coldfork.get_context(method, apply_env=True)
    if context.get_start_method() == "forkserver":
        # The server imports it once for all engines; importing it wakes nothing.
        context.set_forkserver_preload(["torch"])
    answers: list[Answer] = []
    store = Store(slots, BLOCK_BYTES)
    name, prompt = next(iter(prompts.items()))
    steps = 1 + 2 * len(prompts)
    dying = Setting(setting.model, setting.device, dies_at)
    with (
        _running(context, "first", store, dying) as first,
        _running(context, "second", store, setting) as second,
    ):
        try:
            answers.append(Answer("first", name, first.ask(Job(prompt, count))))
        except EngineError as error:
            if dies_at is None:
                raise
            answers.append(Answer("first", name, None, trouble=str(error)))
        coldfork.progress(1, steps)
        for number, (name, prompt) in enumerate(prompts.items(), 1):
            alone = second.ask(Job(prompt, count, alone=True))
            coldfork.progress(2 * number, steps)
            outcome = second.ask(Job(prompt, count))
            coldfork.progress(2 * number + 1, steps)
            same = (outcome.tokens, outcome.scores) == (alone.tokens, alone.scores)
            answers.append(Answer("second", name, outcome, same))
    because = decision.line() if method is None else f"{method}, as it was asked for"
    return Shared(context.get_start_method(), because, tuple(answers))


@contextmanager
def _running(context: Any, name: str, store: Store, setting: Setting) -> Iterator[Engine]:
    engine = Engine(context, name, store, setting)
    try:
        yield engine
    finally:
        engine.end()


def _ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"was killed by {Signals(-code).name}"
    return f"ended with {code}"
