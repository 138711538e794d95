"""The doors from tensors to the host that operators do not show: watched while a capture runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch

from coldfork.virtual.capturing.recording import Recorder

_READS = ("tolist", "cpu", "__array__", "__repr__", "__str__", "__format__", "__reduce_ex__", "__dlpack__")


class HostDoors:
    """Refuses what reads a tensor on the host, on the thread that captures, for as long as it does."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> HostDoors:
        for name in _READS:
            self._watch(
                torch.Tensor, name, f".{name}()" if not name.startswith("_") else f"{name} of a tensor"
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._undo:
            self._undo.pop()()

    def _watch(self, owner: Any, name: str, what: str) -> None:
        original = getattr(owner, name)
        recorder = self._recorder

        def refusing(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != recorder.thread:
                return original(*args, **kwargs)
            raise recorder.refuse(what, "reads the device's memory on the host")

        own = name in vars(owner)
        setattr(owner, name, refusing)
        self._undo.append(lambda: setattr(owner, name, original) if own else delattr(owner, name))
