"""The code of the worker process, the only one that touches the device."""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Any

from speculate.engine import Config


def main(answers: Connection, config: Config, prompt: list[int], count: int) -> None:
    """Decode, and send what came of it; or the error, as text."""
    try:
        answers.send(_decoded(config, prompt, count))
    except Exception as error:
        answers.send(f"{type(error).__name__}: {error}")


def _decoded(config: Config, prompt: list[int], count: int) -> Any:
    from speculate.engine import Engine

    return Engine(config).generate(prompt, count)
