"""Let the modes of a thread see the operators of compiled graphs that run on it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch

from coldfork.virtual.capturing.compiled.kernels import Kernels
from coldfork.virtual.capturing.compiled.signatures import UnreadableKernelError

Refuse = Callable[[str, str], Exception]
"""Makes the error about something that cannot be shown, given what it is and why."""

_OUTPUT_CODE = "torch._inductor.output_code"
_A_GRAPH = "a graph of torch.compile"


class CompiledCalls:
    """The calls of compiled graphs in this process; on some threads, each graph's operators run one
    by one.
    """

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self._lock = threading.Lock()
        self._shown: dict[int, list[Refuse | None]] = {}
        self._original: Any = None

    @contextmanager
    def shown(self, refuse: Refuse | None = None) -> Iterator[None]:
        """Within the block, run compiled graphs of this thread operator by operator.

        Code that cannot run this way is passed to `refuse`; without `refuse`, it runs unseen.
        """
        module = sys.modules.get(_OUTPUT_CODE)
        if module is None:
            # Nothing has been compiled so far, so there is nothing to run this way.
            yield
            return
        thread = threading.get_ident()
        graphs = module.CompiledFxGraph
        self._enter(graphs, thread, refuse)
        try:
            yield
        finally:
            self._leave(graphs, thread)

    @contextmanager
    def shown_as(self, thread: int) -> Iterator[None]:
        """Within the block, run compiled graphs of this thread as those of another thread are run now."""
        own = threading.get_ident()
        with self._lock:
            if thread in self._shown:
                self._shown[own] = list(self._shown[thread])
        try:
            yield
        finally:
            with self._lock:
                self._shown.pop(own, None)

    def _enter(self, graphs: Any, thread: int, refuse: Refuse | None) -> None:
        with self._lock:
            if not self._shown:
                self._original = graphs.__call__
                graphs.__call__ = self._replacing(graphs.__call__)
            self._shown.setdefault(thread, []).append(refuse)

    def _leave(self, graphs: Any, thread: int) -> None:
        with self._lock:
            self._shown[thread].pop()
            if not self._shown[thread]:
                del self._shown[thread]
            if not self._shown:
                graphs.__call__ = self._original

    def _replacing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(compiled: Any, inputs: Any) -> Any:
            asked = self._shown.get(threading.get_ident())
            if asked is None:
                return original(compiled, inputs)
            return self._by_operators(compiled, inputs, original, asked[-1])

        return call

    def _by_operators(self, compiled: Any, inputs: Any, original: Any, refuse: Refuse | None) -> Any:
        try:
            twin = self._kernels.twin(compiled)
        except (UnreadableKernelError, OSError, SyntaxError) as error:
            if refuse is None:
                return original(compiled, inputs)
            raise refuse(_A_GRAPH, f"{error}, so what it writes is unknown") from None
        try:
            return twin(inputs)
        except AssertionError as error:
            if refuse is None:
                raise
            why = f"its arguments are laid out differently from what the compiler expected ({error})"
            raise refuse(_A_GRAPH, why) from None


COMPILES = (
    "compiles here for the first time, or for new arguments; the compiler saves and restores random "
    "numbers, and may measure and load kernels: call it with such arguments before the capture"
)
LIBRARY = "it runs a library that torch's compiler made ahead of time, so what it writes is unknown"

STEPS = (("torch._dynamo.convert_frame", "_compile"), ("torch._inductor.compile_fx", "_compile_fx_inner"))
"""Where a compilation begins; an error raised deeper inside would arrive wrapped in another one."""

LIBRARIES = (
    ("torch._inductor.output_code", "CompiledAOTI", ("__call__",)),
    ("torch._inductor.package.package", "AOTICompiledModel", ("__call__",)),
    ("torch._C._aoti", "AOTIModelPackageLoader", ("run", "boxed_run")),
    ("torch._C._aoti", "AOTIModelContainerRunnerCpu", ("run", "boxed_run")),
)
"""The functions that run whole programs which were compiled ahead of time."""

_FOLDERS = tuple(
    os.path.join(os.path.dirname(torch.__file__), room) + os.sep  # noqa: PTH118, PTH120 - as in code objects
    for room in ("_dynamo", "_functorch", "_inductor")
)


def is_compiling() -> bool:
    """Return whether this thread is running the compiler itself, and not compiled code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in _AT_WORK and frame.f_code.co_filename.startswith(_FOLDERS):
            return True
        frame = frame.f_back
    return False


_AT_WORK = frozenset(("_compile", "preserve_rng_state", "_compile_fx_inner", "compile_fx", "trace_frame"))


def times_compiled() -> int:
    """Return how many functions torch's compiler has compiled in this process."""
    module = sys.modules.get("torch._dynamo.utils")
    return int(module.counters["frames"]["ok"]) if module is not None else 0


def what_is_compiled(code: Any) -> str:
    """Return a description of the function being compiled."""
    name = getattr(code, "co_qualname", "")
    return f"torch.compile of {name}" if name else "torch.compile"
