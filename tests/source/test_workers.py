"""A helper answers item by item, and what it could not answer any more is done without it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coldfork.source.files.workers import Worker, can_fork
from coldfork.source.reach import results
from tests.source.expectations import observe, write

pytestmark = pytest.mark.skipif(not can_fork(), reason="there are no helper processes without fork")


def test_a_worker_answers_one_request_after_another_to_its_last_item() -> None:
    worker = Worker(lambda count: (number * number for number in range(count)))
    answered = []
    for count in (3, 0, 4):
        worker.ask(count)
        answered.append(list(worker.answer()))
    worker.close()
    assert answered == [[0, 1, 4], [], [0, 1, 4, 9]]


def test_a_worker_that_dies_over_a_request_has_answered_nothing() -> None:
    def die(_request: Any) -> Iterator[int]:
        yield 1
        os._exit(1)

    worker = Worker(die)
    worker.ask(None)
    assert list(worker.answer()) == []
    worker.ask(None)  # nobody is there any more, and that is no error
    assert list(worker.answer()) == []
    worker.close()


def test_what_a_dead_helper_did_not_follow_is_followed_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "import torch\ntorch.cuda.is_available()\n"
    write({f"tree/pkg/m{number:02}.py": source for number in range(70)}, tmp_path)
    alone = observe([tmp_path / "tree"], jobs=1)
    monkeypatch.setattr(results, "_WORTH_A_WORKER", 32)
    here, evaluate = os.getpid(), results.Results._evaluate_one

    def followed(self: results.Results, name: str) -> results.Outcome:
        if os.getpid() != here:
            os._exit(1)
        return evaluate(self, name)

    monkeypatch.setattr(results.Results, "_evaluate_one", followed)
    together = observe([tmp_path / "tree"], jobs=2)
    assert len(together.effects) == 70
    assert together.effects == alone.effects
