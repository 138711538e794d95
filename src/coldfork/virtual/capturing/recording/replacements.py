"""Putting something else in the place of torch's functions, on the thread that captures, while it does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from coldfork.virtual.capturing.recording.recorder import Recorder


class Replacements(ExitStack):
    """What is replaced while a capture runs; other threads get what was there before."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def _close(self, owner: Any, name: str, why: str, kind: Any, what: str = "") -> None:
        """Refuse a function or a method."""
        called = what or f".{name}()"
        if getattr(owner, "__name__", "").startswith(("torch.cuda", "torch.cpu", "torch.accelerator")):
            called = f"{owner.__name__}.{name}()"

        def refused(original: Any, *args: Any, **kwargs: Any) -> Any:
            raise self._recorder.refuse(called, why, kind)

        self._replace(owner, name, refused)

    def _replace(self, owner: Any, name: str, instead: Callable[..., Any]) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return
        thread, shapes = self._recorder.thread, self._recorder.shapes

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if shapes.computing or threading.get_ident() != thread:
                return original(*args, **kwargs)
            return instead(original, *args, **kwargs)

        own = name in vars(owner)
        before = vars(owner).get(name)
        setattr(owner, name, wrapper)
        self.callback(lambda: setattr(owner, name, before) if own else delattr(owner, name))
