"""Lets the modes of a thread see what compiled graphs do while they run there."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from coldfork.virtual.capturing.compiled.kernels import Kernels
from coldfork.virtual.capturing.compiled.signatures import UnreadableKernelError

Refuse = Callable[[str, str], Exception]
"""Makes the error for something that cannot be shown, from what it is and why."""

_OUTPUT_CODE = "torch._inductor.output_code"
_A_GRAPH = "a graph of torch.compile"


class CompiledCalls:
    """The calls of compiled graphs in this process; those of some threads run by their operators."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self._lock = threading.Lock()
        self._shown: dict[int, list[Refuse | None]] = {}
        self._original: Any = None

    @contextmanager
    def shown(self, refuse: Refuse | None = None) -> Iterator[None]:
        """Run compiled graphs of this thread by their operators.

        What cannot be shown so is given to `refuse`; without it, it runs as it is, and nobody sees it.
        """
        module = sys.modules.get(_OUTPUT_CODE)
        if module is None:
            # Nothing was compiled by then, so there is nothing to show.
            yield
            return
        thread = threading.get_ident()
        graphs = module.CompiledFxGraph
        self._enter(graphs, thread, refuse)
        try:
            yield
        finally:
            self._leave(graphs, thread)

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
            raise refuse(_A_GRAPH, f"{error}, so it is not known what it writes") from None
        try:
            return twin(inputs)
        except AssertionError as error:
            if refuse is None:
                raise
            why = f"what it calls has another layout than the compiler counted on ({error})"
            raise refuse(_A_GRAPH, why) from None
