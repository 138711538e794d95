"""Inputs that the host reads, and fresh runs with values on either side of numbers used in comparisons."""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, product
from types import CodeType, FrameType, MethodType, ModuleType
from typing import Any

import torch

from coldfork.graphs.leaks.memory import is_readable, key_of
from coldfork.graphs.leaks.operator_watch import HostReads
from coldfork.graphs.leaks.reachable_values import own_of
from coldfork.graphs.leaks.value_changes import profile_again
from coldfork.graphs.trials.beginning import Level, Question, View
from coldfork.graphs.trials.copies import Answer
from coldfork.virtual.capturing.operators.compiler import UncompiledMode
from coldfork.virtual.capturing.operators.schemas import Operators, Way, tensors_in
from coldfork.virtual.capturing.records import Places

_COMPARING = frozenset(("COMPARE_OP", "CONTAINS_OP"))
_COMPARING_CALLS = frozenset(("min", "max", "bisect", "bisect_left", "bisect_right", "range"))
_MOST = 4000
"""The most numbers, functions, and numbers of one list that are looked at."""
_OURS = "coldfork.graphs."
_NOWHERE = object()

Number = int | float


@dataclass(frozen=True, slots=True)
class HostDecisions:
    """The inputs and numbers that may have decided, on the host, what a run computed."""

    inputs: frozenset[int] = frozenset()
    """The numbers of the inputs that were read on the host, even indirectly."""
    numbers: tuple[Number, ...] = ()
    """The numbers with which the code that ran may compare values."""
    reads: int = 0
    """How many host reads depended on an input."""
    complete: bool = True
    """Whether these are all numbers."""


class HostDecisionsWatch(UncompiledMode):
    """A mode that follows inputs to host reads, and collects numbers from the program's code."""

    def __init__(self, inputs: Iterable[View]) -> None:
        super().__init__()
        self._sources: dict[int, frozenset[int]] = {}
        for number, view in enumerate(inputs):
            self._sources[view.key] = self._sources.get(view.key, frozenset()) | {number}
        self._every = frozenset().union(*self._sources.values())
        self._operators = Operators()
        self._read: frozenset[int] = frozenset()
        self._reads = 0
        self._numbers = _Numbers()
        self.threads: bool = False
        """Whether the code started threads."""

    @property
    def found(self) -> HostDecisions:
        """The inputs and numbers of decisions seen so far."""
        numbers = self._numbers
        return HostDecisions(self._read, tuple(numbers.found), self._reads, numbers.complete)

    def depends(self, tensor: Any) -> bool:
        """Return whether a tensor was computed from an input."""
        return bool(self._sources_of([tensor]))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the code of the block, and threads that the block starts."""
        before = sys.getprofile(), threading.getprofile()
        try:
            with self, HostReads(self._note_read):
                threading.setprofile(self._thread_began)
                sys.setprofile(self._numbers.returned)
                yield
        finally:
            profile_again(before[0])
            threading.setprofile(before[1])
        if self.threads:
            # Modes do not see operators in other threads.
            self._read = self._every

    def _thread_began(self, frame: FrameType, event: str, argument: Any) -> None:
        self.threads = True
        sys.setprofile(self._numbers.returned)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        operator = self._operators.of(func)
        sources = self._sources_of(tensors_in((args, kwargs)))
        result = func(*args, **kwargs)
        if operator.way is Way.HOST:
            self._came_to_host(sources)
            return result
        written = [one.of(args, kwargs) for one in operator.written]
        for tensor in tensors_in((result, written)):
            if sources and is_readable(tensor):
                key = key_of(tensor)
                self._sources[key] = self._sources.get(key, frozenset()) | sources
        return result

    def _note_read(self, name: str, tensor: Any) -> None:
        self._came_to_host(self._sources_of(tensors_in(tensor)))

    def _came_to_host(self, sources: frozenset[int]) -> None:
        self._read |= sources
        self._reads += bool(sources)

    def _sources_of(self, tensors: Iterable[Any]) -> frozenset[int]:
        known = (self._sources.get(key_of(one), frozenset()) for one in tensors if is_readable(one))
        return frozenset().union(*known)


class _Numbers:
    """Collects numbers from code that compares values, and from objects that this code names."""

    def __init__(self) -> None:
        self.found: dict[Number, None] = {}
        self.complete: bool = True
        self._places = Places()
        self._names: dict[CodeType, frozenset[str] | None] = {}

    def returned(self, frame: FrameType, event: str, argument: Any) -> None:
        """Collect numbers when a function of the program returns; Python calls this as a profile function."""
        if event != "return":
            return
        code = frame.f_code
        if self._names.get(code, frozenset()) is None:
            return
        if _is_importing(frame):
            return
        if code not in self._names:
            if len(self._names) >= _MOST:
                self.complete = False
                return
            self._names[code] = self._names_in(code) if self._places.is_programs(code) else None
        names = self._names[code]
        if names is None:
            return
        for value in frame.f_locals.values():
            self._take(value, names)
        for name in names:
            if name in frame.f_globals:
                self._take(frame.f_globals[name], names)

    def _names_in(self, code: CodeType) -> frozenset[str] | None:
        """If a function's code compares anything, collect its constants and return its names and keys; else
        None.
        """
        instructions = list(dis.get_instructions(code))
        if not any(one.opname in _COMPARING for one in instructions) and not (
            _COMPARING_CALLS.intersection(code.co_names)
        ):
            return None
        constants = [one.argval for one in instructions if one.opname in ("LOAD_CONST", "LOAD_SMALL_INT")]
        for constant in constants:
            self._take(constant, frozenset())
        return frozenset((*code.co_names, *(one for one in constants if isinstance(one, str))))

    def _take(self, value: Any, names: frozenset[str], depth: int = 0) -> None:
        if type(value) in (int, float):
            if value == value and abs(value) < 1 << 31:
                self.found[value] = None
        elif type(value) in (list, tuple, frozenset, set):
            self.complete = self.complete and max(len(value), len(self.found)) <= _MOST
            for one in islice(value, _MOST):
                if type(one) in (int, float):
                    self._take(one, names)
        elif depth < 3:
            for part in _parts(value, names):
                self._take(part, names, depth + 1)


def _is_importing(frame: FrameType) -> bool:
    """Return whether this code belongs to an import that began during the watch; such code decides
    nothing.
    """
    above = frame.f_back
    while above is not None and not str(above.f_globals.get("__name__")).startswith(_OURS):
        if above.f_code.co_filename.startswith("<frozen importlib"):
            return True
        above = above.f_back
    return False


def _parts(value: Any, names: frozenset[str]) -> Iterator[Any]:
    """Yield the parts of an object that these names can reach, without running code of the program."""
    if type(value) is dict:
        yield from (value[name] for name in names if name in value)
        return
    if type(value) is MethodType:
        value = value.__self__
    if isinstance(value, ModuleType):
        holders: tuple[Mapping[str, Any], ...] = (vars(value),)
    else:
        kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
        own = {} if isinstance(value, type) else own_of(value)
        holders = (own, *(vars(kind) for kind in kinds if kind.__module__ != "builtins"))
    for name in names:
        for holder in holders:
            found = holder.get(name, _NOWHERE)
            if found is not _NOWHERE:
                yield found
                break


Run = Callable[[Question], Answer]
"""Runs a batch on other values."""

_JUMPS = tuple((1 << power) + 1 for power in (17, 14, 12, 10, 9, 8, 7, 6, 5, 4))
"""Values that exceed any threshold; the first one that the program accepts is used."""
_MOST_RUNS = 256
"""The most runs for one batch."""
_TOO_MANY = f"its code compares values with more numbers than {_MOST_RUNS} runs can try"


def on_both_sides(
    question: Question, decisions: HostDecisions, run: Run
) -> Iterator[tuple[Question, Answer]]:
    """Yield runs with very different values of the inputs that the host reads.

    They are successful, or did not finish and leave a value untried; the last one stands for all for which
    no runs are left.
    """
    inputs = decisions.inputs
    if not inputs:
        return
    tries = _Tries(question, run)
    flags = frozenset(number for number in inputs if question.inputs[number].dtype is torch.bool)
    for flag in (False, True) if flags else ():
        # Programs may test whether any or all flags are set, and this changes the result.
        yield from tries.taken([flag], flags, (True,))
    inputs -= flags
    each = [frozenset((one,)) for one in sorted(inputs)]
    groups = [inputs, *each] if len(inputs) > 1 else each
    for group in groups:
        for everywhere in (True, False):
            yield from tries.taken(_JUMPS, group, (everywhere,))
    for level in _levels(decisions.numbers):
        for group in groups:
            found = tries.taken([level], group, (True, False))
            yield from found
            if tries.are_over:
                yield replace(question, level=Level(level, inputs)), Answer(trouble=_TOO_MANY)
                return
            if group == inputs and any(answer.given for _, answer in found):
                break
    if not decisions.complete:
        yield replace(question, level=Level(0, inputs)), Answer(trouble=_TOO_MANY)


class _Tries:
    """A series of runs with inputs at certain values, up to a limit for one batch."""

    def __init__(self, question: Question, run: Run) -> None:
        self._question = question
        self._run = run
        self._left = _MOST_RUNS

    @property
    def are_over(self) -> bool:
        """Whether no further run may be made."""
        return not self._left

    def taken(
        self, values: Iterable[Number], inputs: frozenset[int], ways: Iterable[bool]
    ) -> list[tuple[Question, Answer]]:
        """Return the first successful run with one of these values in these inputs, or unfinished ones.

        The value is given to all elements, or to one, as `ways` says.
        """
        unfinished: list[tuple[Question, Answer]] = []
        for value, everywhere in product(values, ways):
            asked = replace(self._question, level=Level(value, inputs, everywhere))
            if self.are_over:
                return [(asked, Answer(trouble=_TOO_MANY))]
            self._left -= 1
            answer = self._run(asked)
            if answer.given:
                return [(asked, answer)]
            if answer.trouble:
                unfinished.append((asked, answer))
        return unfinished


def _levels(numbers: Iterable[Number]) -> Iterator[Number]:
    """Yield each number and its neighbours, large numbers first, because small ones are common."""
    seen = set[Number]()
    for number in sorted(numbers, key=abs, reverse=True):
        whole = number == int(number)
        step = 1 if whole else abs(number) / 8
        for level in (number + step, number - step, number):
            if level not in seen:
                seen.add(level)
                yield int(level) if whole else level
