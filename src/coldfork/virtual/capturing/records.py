"""The records of a captured region: its operators in order, and the memory that they use."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch

import coldfork
from coldfork.model.states import Frame
from coldfork.virtual.capturing.memory import Holdings, Kind, Memory, Pool
from coldfork.virtual.capturing.operators.schemas import Operator, ResultPlan

Place = tuple[CodeType, int]
"""A line in its cheapest form: the code object and the line number."""

GENERATED = "<torch.compile>"
"""The file name in the code of compiled graphs."""


class Places:
    """Finds the program's own line in a stack, and remembers which code is the program's."""

    def __init__(self) -> None:
        # All of coldfork, because its graph manager may be between the program's line and the operator.
        generated = ("<frozen ", "<eval_with_key>", GENERATED)
        self._torch = (_folder(coldfork.__file__), _folder(torch.__file__), *generated)
        self._library = _folder(os.__file__)
        self._known: dict[CodeType, bool] = {}

    def here(self, depth: int = 1) -> Place | None:
        """Return the line of the program that is running."""
        frame: FrameType | None = sys._getframe(depth)
        known = self._known
        while frame is not None:
            code = frame.f_code
            theirs = known.get(code)
            if theirs is None:
                theirs = known[code] = self.is_programs(code)
            if theirs:
                return code, frame.f_lineno
            frame = frame.f_back
        return None

    def is_programs(self, code: CodeType) -> bool:
        """Return True for code that belongs neither to torch, nor to Python, nor to coldfork."""
        path = code.co_filename
        if path.startswith(self._torch):
            return False
        # Installed packages are inside the standard library's folder, but count as the program's.
        return not path.startswith(self._library) or "site-packages" in path or "dist-packages" in path


def _folder(file: str) -> str:
    return os.path.dirname(file) + os.sep  # noqa: PTH120 - compared with what code objects hold


def as_frame(place: Place | None) -> Frame | None:
    """Return a place as a `Frame`, the form that the rest of coldfork uses."""
    if place is None:
        return None
    code, line = place
    return Frame(code.co_filename, line, code.co_qualname)


def written(where: Frame | None) -> str:
    """Return a place as messages show it."""
    return f"{where.path}:{where.line}" if where is not None else "an unknown line"


@dataclass(slots=True, eq=False)
class Use:
    """One tensor that an operator reads or writes, with its memory, and the part of it that the tensor
    covers.
    """

    memory: Memory
    tensor: Any
    """A tensor of the graph's own with the same elements as the program's."""


class Record:
    """One operator of a captured graph."""

    __slots__ = ("args", "call", "kwargs", "number", "operator", "place", "plan", "read", "spared", "wrote")

    def __init__(
        self,
        number: int,
        operator: Operator,
        place: Place | None,
        step: tuple[Callable[..., object], Any, dict[str, Any]],
        used: tuple[list[Use], list[Use]],
        plan: ResultPlan,
    ) -> None:
        self.number: int = number
        """Its number in the order of execution, from 0."""
        self.operator: Operator = operator
        self.place: Place | None = place
        self.call: Callable[..., object] = step[0]
        self.args: Any = step[1]
        self.kwargs: dict[str, Any] = step[2]
        self.read: list[Use] = used[0]
        self.wrote: list[Use] = used[1]
        self.spared: list[Use] = []
        """The parts of `wrote` that keep some of their elements."""
        self.plan: ResultPlan = plan

    @property
    def name(self) -> str:
        """The operator, such as `aten::add.Tensor`."""
        return self.operator.name

    @property
    def random(self) -> bool:
        """Whether the operator draws random numbers, which are new at each replay."""
        return self.operator.random

    @property
    def where(self) -> Frame | None:
        """The program's line that called the operator."""
        return as_frame(self.place)

    @property
    def reads(self) -> tuple[Memory, ...]:
        """The memory that the operator's results depend on."""
        return tuple(dict.fromkeys(use.memory for use in self.read))

    @property
    def writes(self) -> tuple[Memory, ...]:
        """The memory that the operator changes."""
        return tuple(dict.fromkeys(use.memory for use in self.wrote))

    def __repr__(self) -> str:
        return f"<{self.number}: {self.name} at {written(self.where)}>"


class RecordedRegion:
    """The operators and the memory of one captured region."""

    def __init__(self, pool: Pool, holdings: Holdings) -> None:
        self.pool = pool
        """The graph's pool; pass it to another `capture(pool=...)` to share memory."""
        self._records: list[Record] = []
        self._memories: list[Memory] = []
        self._outside: list[Memory] = []
        self._pointers: list[Place | None] = []
        self._holdings = holdings
        self._state = "capturing"

    @property
    def records(self) -> tuple[Record, ...]:
        """The operators in the order of their execution."""
        return tuple(self._records)

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All memory that the region uses."""
        return tuple(self._memories)

    @property
    def pointers(self) -> tuple[Frame | None, ...]:
        """The lines that took a tensor's address during the capture; later uses of the address are not
        recorded.
        """
        return tuple(as_frame(place) for place in self._pointers)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the region allocated, and that the graph keeps."""
        blocks = {memory.block.key: memory.nbytes for memory in self._memories if memory.kind is Kind.POOL}
        return sum(blocks.values())

    def finish(self, failed: bool) -> None:
        """End the capture."""
        if failed:
            self._drop()
        self._outside = [memory for memory in self._memories if memory.kind is Kind.OUTSIDE]
        self._state = "failed" if failed else "ready"

    def _drop(self) -> None:
        self._holdings.release(list(self._memories))
        self._records.clear()
        self._outside = []
        # Emptied, because otherwise the graph's finalizer would return these references a second time.
        self._memories.clear()
