"""Watch for actions that bypass the recorder: host access without an operator, and other threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch

from coldfork.virtual.capturing.compiled.calls import (
    COMPILES,
    LIBRARIES,
    LIBRARY,
    STEPS,
    is_compiling,
    what_is_compiled,
)
from coldfork.virtual.capturing.memory import Kind
from coldfork.virtual.capturing.operators.compiler import UncompiledMode, hide_from_compiler
from coldfork.virtual.capturing.operators.schemas import Operators, Way
from coldfork.virtual.capturing.recording.recorder import Recorder
from coldfork.virtual.capturing.recording.refusals import no_array, not_simulated, refusal


class Replacements(ExitStack):
    """Functions replaced while a capture runs; other threads get the originals."""

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
        threads, shapes = self._recorder.threads, self._recorder.shapes

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if shapes.computing or threading.get_ident() not in threads:
                return original(*args, **kwargs)
            return instead(original, *args, **kwargs)

        own = name in vars(owner)
        before = vars(owner).get(name)
        setattr(owner, name, wrapper)
        self.callback(lambda: setattr(owner, name, before) if own else delattr(owner, name))


_READS = "reads the device's memory on the host"
_WAITS = "waits for the device"
_ASKS = "asks whether the device is finished"
_SEEDS = "changes the random numbers outside of a drawing operator; seed before the capture"
_BEHIND = "it copies memory behind torch's operators; use clone() instead"


_OF_TENSORS = ("tolist", "cpu", "__repr__", "__str__", "__format__", "__reduce_ex__", "__contains__")
_SEEDING = ("manual_seed", "seed", "set_rng_state")


class HostAccess(Replacements):
    """Replacements that refuse reads of tensors on the host by the capturing thread."""

    def __enter__(self) -> HostAccess:
        tensor = torch.Tensor
        closed = (
            (tensor, _OF_TENSORS, _READS, refusal),
            (tensor, ("numpy", "__array__"), "turns the device's memory into an array of the host", no_array),
            (tensor, ("__deepcopy__", "__dlpack__"), _BEHIND, not_simulated),
            (torch.UntypedStorage, ("tolist", "__getitem__", "cpu"), _READS, refusal),
            (torch.utils.dlpack, ("to_dlpack",), _BEHIND, not_simulated),
            (torch.cuda, ("synchronize",), _WAITS, refusal),
            (torch.cpu, ("synchronize",), _WAITS, refusal),
            (getattr(torch, "accelerator", None), ("synchronize",), _WAITS, refusal),
            (torch.cuda.Stream, ("synchronize",), _WAITS, refusal),
            (torch.cuda.Stream, ("query",), _ASKS, refusal),
            (torch.cuda.Event, ("synchronize",), _WAITS, refusal),
            (torch.cuda.Event, ("query",), _ASKS, refusal),
        )
        for owner, names, why, kind in closed:
            for name in names:
                self._close(owner, name, why, kind)
        for owner in (torch, torch.random):
            for name in _SEEDING:
                self._replace(owner, name, partial(self._seed, name))
        self._replace(torch.cuda, "is_current_stream_capturing", lambda original: True)
        self._replace(tensor, "to", self._to)
        self._replace(tensor, "data_ptr", self._data_ptr)
        self._replace(tensor, "tensor_split", self._tensor_split)
        self._replace(torch, "tensor_split", self._tensor_split)
        return self

    # --- replacements
    # ----------------------------------------------------------------------------------------

    def _to(self, original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        # A text such as "cpu" means the host, whereas a device object may be some tensor's `.device`.
        if any(isinstance(one, str) and one.partition(":")[0] == "cpu" for one in (*args, *kwargs.values())):
            raise self._recorder.refuse(
                '.to("cpu")',
                f'{_READS}; to name the device that the CPU simulates, write torch.device("cpu")',
            )
        return original(tensor, *args, **kwargs)

    def _seed(self, name: str, original: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            raise self._recorder.refuse("torch.compile", COMPILES)
        raise self._recorder.refuse(f"{name}()", _SEEDS)

    def _data_ptr(self, original: Any, tensor: Any) -> Any:
        recorder = self._recorder
        recorder.region._pointers.append(recorder.places.here(2))
        return original(tensor)

    def _tensor_split(self, original: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        # `tensor_split` reads the split points without an operator, and so would silently read poison.
        for one in (*args, *kwargs.values()):
            if isinstance(one, torch.Tensor) and self._recorder.kind_of(one) is Kind.POOL:
                raise self._recorder.refuse(
                    "tensor_split() by a tensor", ("reads the split points on the host")
                )
        return original(tensor, *args, **kwargs)


_HARMLESS = frozenset((Way.VIEW, Way.PASS))


class Elsewhere(UncompiledMode):
    """Replacements that refuse work for the device on threads other than the capturing one."""

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Return False, so that torch runs the original functions of compiled graphs: compiled kernels ignore
        modes.
        """
        return False

    def __init__(self, recorder: Recorder, operators: Operators) -> None:
        super().__init__()
        self._recorder = recorder
        self._operators = operators

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operator = self._operators.of(func)
        if self._recorder.capturing and operator.way not in _HARMLESS:
            raise self._recorder.refuse(
                f"{operator.name} on the thread {threading.current_thread().name}",
                "is work of a thread other than the capturing one",
            )
        return func(*args, **kwargs or {})


@contextmanager
def watched_threads(recorder: Recorder, operators: Operators) -> Iterator[None]:
    """Watch the threads and the thread pools to which the capturing thread gives work."""
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    def started(thread: Any) -> None:
        if threading.get_ident() in recorder.threads:
            thread.run = _watched(thread.run, recorder, operators)
        start(thread)

    def submitted(executor: Any, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() in recorder.threads:
            work = _watched(work, recorder, operators)
        return submit(executor, work, *args, **kwargs)

    threading.Thread.start = started  # type: ignore[assignment,method-assign]
    ThreadPoolExecutor.submit = submitted  # type: ignore[method-assign]
    try:
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]
        ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]


def _watched(work: Callable[..., Any], recorder: Recorder, operators: Operators) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        if not recorder.capturing:
            return work(*args, **kwargs)
        with Elsewhere(recorder, operators):
            return work(*args, **kwargs)

    return run


class CompilerAccess(Replacements):
    """Replacements that refuse compilation on the capturing thread."""

    def __enter__(self) -> CompilerAccess:
        self._close_loaded()
        self._replace(torch, "compile", self._compile)
        return self

    def _compile(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        # Compilation comes later, when the result is called, but this may have imported the compiler.
        made = original(*args, **kwargs)
        hide_from_compiler(type(self._recorder))
        self._close_loaded()
        return made

    def _close_loaded(self) -> None:
        for room, name in STEPS:
            self._replace(sys.modules.get(room), name, self._refuse)
        for room, kind, names in LIBRARIES:
            for name in names:
                owner = getattr(sys.modules.get(room), kind, None)
                self._close(owner, name, LIBRARY, not_simulated, f"{kind}.{name}()")

    def _refuse(self, original: Any, compiled: Any, *args: Any, **kwargs: Any) -> Any:
        raise self._recorder.refuse(what_is_compiled(compiled), COMPILES)
