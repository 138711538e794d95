"""What a program's graph gives on another batch, under virtual capture; compared with eager execution."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

from coldfork import virtual

CAPTURED = [float(number) for number in range(1, 17)]
REPLAYED = [7.0, -3, 11, 2, 5, -8, 1, 9, 4, 6, -2, 3, 10, 12, -5, 8]


class _Stream:
    def __init__(self, *_: object) -> None:
        pass

    def wait_stream(self, other: object) -> None:
        pass


class Replay:
    """Runs a program's `capture` eagerly, or captured and then replayed on another batch."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.patch = patch
        self.graphs: list[Any] = []
        self.kept: list[object] = []
        patch.syspath_prepend(str(folder))
        patch.setattr(torch.cuda, "CUDAGraph", object)
        patch.setattr(torch.cuda, "Stream", _Stream)
        patch.setattr(torch.cuda, "current_stream", _Stream)
        patch.setattr(torch.cuda, "stream", contextlib.nullcontext)

    def outcome(self) -> str:
        """`right` or `wrong` for what the replay gives, `refused` where there is no graph."""
        wanted = self._run(REPLAYED, contextlib.nullcontext)[1].clone()
        try:
            given, got = self._run(CAPTURED, self._captured)
        except virtual.CaptureRefusedError:
            return "refused"
        given.copy_(torch.tensor(REPLAYED))
        for graph in self.graphs:
            graph.replay()
        return "right" if torch.allclose(got, wanted) else "wrong"

    @contextlib.contextmanager
    def _captured(self, *_: object) -> Iterator[None]:
        with virtual.capture() as graph, self.patch.context() as inside:
            inside.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
            self.graphs.append(graph)
            yield

    def _run(self, batch: list[float], graph: Callable[..., Any]) -> tuple[torch.Tensor, torch.Tensor]:
        for name in [path.stem for path in self.folder.glob("*.py")]:
            sys.modules.pop(name, None)
        self.patch.setattr(torch.cuda, "graph", graph)
        self.patch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
        program = import_module("program")
        hidden = torch.tensor(batch)
        before = sys.getprofile()
        sys.setprofile(self._keep)  # an engine lives longer than the function that captures
        try:
            _, out = program.capture(hidden)
        finally:
            sys.setprofile(before)
        self.kept.append(program)
        return hidden, out

    def _keep(self, frame: FrameType, event: str, argument: object) -> None:
        ours = frame.f_code.co_filename.startswith(str(self.folder))
        # What captured code itself held is gone with its call, as it is in any program.
        if event == "return" and ours and "capture" in frame.f_code.co_name:
            self.kept += [dict(frame.f_locals), argument]
