"""A watch on eager runs, for host reads and for the memory that each operator reads and writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch.overrides import TorchFunctionMode

from coldfork.graphs.leaks.memory import BEFORE, NOTHING, CheckedRun, Ledger, Writer, has_memory
from coldfork.model.states import Frame
from coldfork.virtual.capturing.operators.compiler import UncompiledMode
from coldfork.virtual.capturing.operators.schemas import Operator, Operators, Way, tensors_in
from coldfork.virtual.capturing.records import Places, as_frame

_WRITING = frozenset((Way.COMPUTE, Way.EMPTY, Way.LIFT, Way.DECOMPOSE))
_ON_HOST = frozenset(("tolist", "numpy", "__array__", "cpu", "__dlpack__"))


@dataclass(frozen=True, slots=True)
class OperatorStep:
    """One operator of a captured region."""

    name: str
    where: Frame | None
    read: tuple[Any, ...]
    wrote: tuple[Any, ...]
    allocates: bool = False
    """Whether it merely allocates memory, without writing."""


class Watched(UncompiledMode):
    """A mode that runs every operator, and records the memory that the operator reads and writes."""

    def __init__(
        self,
        ledger: Ledger,
        run: CheckedRun,
        operators: Operators,
        places: Places,
        is_input: Callable[[Any], bool],
        steps: list[OperatorStep] | None = None,
    ) -> None:
        super().__init__()
        self._ledger = ledger
        self._run = run
        self._is_input = is_input
        self._operators = operators
        self._places = places
        self._steps = steps
        self._made = set[int]()
        self.host_reads: list[Frame | None] = []
        """The lines where the host reads a value that depends on the batch."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        operator = self._operators.of(func)
        depends = operator.random or any(
            self.depends(tensor) for tensor in tensors_in((args, kwargs)) if has_memory(tensor)
        )
        result = func(*args, **kwargs)
        if operator.way is Way.HOST and depends:
            self.host_reads.append(as_frame(self._places.here(2)))
        if operator.way in _WRITING:
            self._note(operator, depends, args, kwargs, result)
        return result

    def note_host_read(self, name: str, tensor: Any) -> None:
        """Record that the host reads a tensor here."""
        if has_memory(tensor) and self.depends(tensor):
            self.host_reads.append(as_frame(self._places.here(2)))

    def depends(self, tensor: Any) -> bool:
        """Return whether a tensor's contents depend on the batch."""
        writers = self._ledger.writers
        return any(
            self._is_input(tensor) if number == BEFORE else writers[number].depends
            for number in self._ledger.last_writers(tensor)
        )

    def _note(self, operator: Operator, depends: bool, args: Any, kwargs: Any, result: Any) -> None:
        where = as_frame(self._places.here(3))
        written = [
            one for one in tensors_in([one.of(args, kwargs) for one in operator.written]) if has_memory(one)
        ]
        aliased = {one.untyped_storage()._cdata for one in written}
        fresh = [
            one
            for one in tensors_in(result)
            if has_memory(one) and one.untyped_storage()._cdata not in aliased
        ]
        self._made.update(one.untyped_storage()._cdata for one in fresh)
        allocates = operator.way is Way.EMPTY
        if self._steps is not None:
            read = tuple(one for one in _read_of(operator, args, kwargs) if has_memory(one))
            self._steps.append(OperatorStep(operator.name, where, read, (*written, *fresh), allocates))
            return
        if allocates:
            for tensor in fresh:
                self._ledger.write(tensor, NOTHING)
            return
        # While a batch's state is built, values written to existing memory depend on the batch.
        older = any(key not in self._made for key in aliased)
        depends = depends or (self._run.kind.startswith("build") and older)
        writer = self._ledger.new_writer(Writer(operator.name, where, self._run, depends))
        for tensor in (*written, *fresh):
            self._ledger.write(tensor, writer)


class HostReads(TorchFunctionMode):  # type: ignore[misc]
    """Reports reads by the host that call no operator, with the function's name and the tensor."""

    def __init__(self, note: Callable[[str, Any], None]) -> None:
        super().__init__()
        self._note = note

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in _ON_HOST:
            self._note(func.__name__, args[0] if args else None)
        return func(*args, **(kwargs or {}))


def _read_of(operator: Operator, args: Any, kwargs: Any) -> list[Any]:
    """Return the tensors on whose contents an operator depends."""
    written = [one.of(args, kwargs) for one in operator.written] if operator.blind else []
    skipped = {id(one) for one in tensors_in(written)}
    return [one for one in tensors_in((args, kwargs)) if id(one) not in skipped]
