"""Starts a worker with the method that coldfork chooses, whatever this process has done to the device."""

from __future__ import annotations

import coldfork
from speculate import worker
from speculate.engine import Config, Outcome


class WorkerError(RuntimeError):
    """The worker failed; the message is its error."""


def decode(config: Config, prompt: list[int], count: int) -> tuple[Outcome, str]:
    """Decode in a worker; returns the reasons for its start method too."""
    decision = coldfork.decide()
    context = coldfork.get_context(apply_env=True)
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=worker.main, args=(sending, config, prompt, count))
    process.start()
    sending.close()
    try:
        answer = receiving.recv()
    except EOFError:
        process.join()
        raise WorkerError(f"the worker ended with {process.exitcode} before it answered") from None
    process.join()
    if isinstance(answer, str):
        raise WorkerError(answer)
    return answer, str(decision)
