"""Every operator of torch's own test database through virtual capture: `./dev bench opinfo [NAME...]`.

A region is captured while its inputs hold nothing but zeros, the real inputs are copied in, and the replay is
compared with eager execution, bit for bit. What is neither equal nor refused is listed with its reason.

`--compiled BACKEND` puts what `torch.compile` makes of each operator through the same, compared with what
was compiled and not captured.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.tensors import compared, elements, plain, twin
from coldfork.virtual import CaptureRefusedError, NotCapturableError, ReplayError, capture

MODES: dict[str, Callable[[], Any]] = {
    "no_grad": torch.no_grad,
    "grad": torch.enable_grad,
    "inference": torch.inference_mode,
}
DTYPES = {"float32": torch.float32, "int64": torch.int64}


BACKENDS = ("eager", "aot_eager", "inductor")

USUAL = ("equal", "refused", "eager-fails", "uninitialised")
FINE = (*USUAL, "compiler-fails")
WRONG = (
    "capture-fails",
    "replay-fails",
    "structure-differs",
    "shape-differs",
    "value-differs",
    "stride-differs",
    "compiles-again",
)

#: They take a tensor that is the host's by definition, and so is baked into a graph.
HOST_ARGUMENTS = ("tensor_split",)


class Watching(TorchDispatchMode):  # type: ignore[misc]
    """A mode that does nothing but be there."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        has = torch._C._dispatch_has_kernel_for_dispatch_key
        composite = "CompositeImplicitAutograd"
        if has(func.name(), composite) and not has(func.name(), "CPU"):
            # In inference mode operators made of others come whole; elsewhere they have come apart by now.
            with self:
                return func._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs or {})
        return func(*args, **kwargs or {})


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one sample of one operator fared."""

    operator: str
    dtype: str
    mode: str
    sample: int
    kind: str
    """equal, refused, not-capturable, or what went wrong."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One operator with one kind of element."""

    operator: Any
    dtype: str

    @property
    def name(self) -> str:
        """Its name in the database, with the variant."""
        variant = self.operator.variant_test_name
        return f"{self.operator.name}.{variant}" if variant else str(self.operator.name)


def cases(names: Sequence[str] = ()) -> list[Case]:
    """The database, or those of its operators that were named."""
    op_db = _database()
    found = [
        Case(operator, dtype)
        for operator in op_db
        for dtype, kind in DTYPES.items()
        if kind in operator.supported_dtypes("cpu")
    ]
    return [case for case in found if not names or case.name in names or case.operator.name in names]


def with_torchs_tests() -> None:
    """Let torch's databases of tests be imported where a package that its test cases need is missing."""
    if "expecttest" not in sys.modules and importlib.util.find_spec("expecttest") is None:
        # Torch's own test cases derive from a class of it; the database beside them needs nothing of it.
        stand_in: Any = ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stand_in


def _database() -> list[Any]:
    with_torchs_tests()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_methods_invocations as database
    # It seeds in the middle of what would be captured; here one state of the generator serves both.
    database.wrapper_set_seed = lambda operator, *args, **kwargs: operator(*args, **kwargs)
    return list(database.op_db)


def run(case: Case, mode: str, samples: int, backend: str = "") -> Iterator[Outcome]:
    """Put the first samples of an operator through capture and replay, compiled if a backend is named."""
    torch.manual_seed(7)
    try:
        kind = DTYPES[case.dtype]
        # With gradients an operator keeps what its backward needs, and may take another way.
        differentiable = mode == "grad" and kind in case.operator.supported_backward_dtypes("cpu")
        given = list(
            zip(
                range(samples),
                case.operator.sample_inputs("cpu", kind, requires_grad=differentiable),
                strict=False,
            )
        )
    except Exception as error:
        yield Outcome(case.name, case.dtype, mode, 0, "no-sample", _first_line(error))
        return
    for number, sample in given:
        kind, reason = judge(case.operator, sample, MODES[mode], backend)
        yield Outcome(case.name, case.dtype, mode, number, kind, reason)
    if backend:
        torch._dynamo.reset()


class Compiled:
    """An operator as the compiler makes it, for one sample."""

    def __init__(self, operator: Any, backend: str) -> None:
        self.name = operator.name
        self._call = torch.compile(operator.op, backend=backend, dynamic=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)


def judge(operator: Any, sample: Any, mode: Callable[[], Any], backend: str = "") -> tuple[str, str]:
    """Compare the replay of one call with its execution without a capture."""
    with warnings.catch_warnings(), mode():
        warnings.simplefilter("ignore")
        if backend:
            operator = Compiled(operator, backend)
            try:
                Call(operator, sample).call()
                Call(operator, sample).call()
            except Exception as error:
                return "compiler-fails", _first_line(error)
        eager = Call(operator, sample)
        virtual = Call(operator, sample)
        state = torch.get_rng_state()
        try:
            expected = eager.call()
        except Exception as error:
            return "eager-fails", _first_line(error)
        virtual.blank()
        try:
            with capture() as graph:
                got = virtual.call()
        except CaptureRefusedError as error:
            reason = str(error).splitlines()[-1]
            return "compiles-again" if "compiles here" in reason else "refused", reason
        except NotCapturableError as error:
            return "not-capturable", str(error)
        except Exception as error:
            return "capture-fails", f"{type(error).__name__}: {_first_line(error)}"
        virtual.restore()
        torch.set_rng_state(state)
        try:
            graph.replay()
        except ReplayError as error:
            return "replay-fails", _first_line(error)
        if any("empty" in record.name for record in graph.records) and len(graph.records) == 1:
            return "uninitialised", "nothing is computed, so there is nothing to compare"
        replayed = [got, virtual.tensors, virtual.state]
        verdict = compared([expected, eager.tensors, eager.state], replayed)
        if verdict[0] != "value-differs" or backend:
            return verdict
        # Some operators that are made of others take another way as soon as any mode watches.
        watched = Call(operator, sample)
        torch.set_rng_state(state)
        with Watching():
            expected = watched.call()
        if (
            compared([expected, watched.tensors, watched.state], [got, virtual.tensors, virtual.state])[0]
            == "equal"
        ):
            return "equal-if-watched", verdict[1]
        return verdict


class Call:
    """A call with tensors of its own, laid out as the sample has them."""

    def __init__(self, operator: Any, sample: Any) -> None:
        self._operator = operator.anew() if hasattr(operator, "anew") else operator
        self._known: dict[int, Any] = {}
        self._originals: list[Any] = []
        self.input = self._copy(sample.input)
        self._blanked = 1 if operator.name in HOST_ARGUMENTS else None
        self.args = self._copy(sample.args)
        self.kwargs = self._copy(sample.kwargs)

    @property
    def tensors(self) -> list[Any]:
        """The tensors given, which the operator may have changed."""
        return list(self._known.values())

    @property
    def state(self) -> list[Any]:
        """The tensors that the operator itself keeps."""
        return list(getattr(self._operator, "state", ()))

    def call(self) -> Any:
        return self._operator(self.input, *self.args, **self.kwargs)

    def blank(self) -> None:
        """Hold nothing but zeros."""
        with torch.no_grad():
            for tensor in self.tensors[: self._blanked]:
                if plain(tensor):
                    elements(tensor).zero_()

    def restore(self) -> None:
        """Hold what the sample holds."""
        with torch.no_grad():
            for original, tensor in zip(self._originals, self._known.values(), strict=True):
                if plain(tensor):
                    elements(tensor).copy_(elements(original))

    def _copy(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self._known:
                self._known[id(value)] = twin(value)
                self._originals.append(value)
            return self._known[id(value)]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self._copy, value))
        if isinstance(value, list | tuple):
            return type(value)(map(self._copy, value))
        if isinstance(value, dict):
            return {name: self._copy(one) for name, one in value.items()}
        return value


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def tell(outcomes: Sequence[Outcome], show: Sequence[str]) -> None:
    """Print how many outcomes of each kind there are, and list unusual and wanted ones."""
    counts = Counter((outcome.mode, outcome.kind) for outcome in outcomes)
    for (mode, kind), count in sorted(counts.items()):
        print(f"{mode:10} {kind:18} {count:6}")
    listed = Counter(
        (outcome.kind, outcome.operator, outcome.dtype, outcome.mode, outcome.reason[:150])
        for outcome in outcomes
        if outcome.kind in show or outcome.kind not in USUAL
    )
    for (kind, name, dtype, mode, reason), count in sorted(listed.items()):
        print(f"{kind:18} {name:40} {dtype:8} {mode:10} x{count:<4} {reason}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Sweep, and list what is neither equal nor refused."""
    parser = argparse.ArgumentParser(prog="./dev bench opinfo", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these operators")
    parser.add_argument("--mode", choices=MODES, action="append", help="default: all of them")
    parser.add_argument("--samples", type=int, default=1000, help="at most so many samples an operator (all)")
    parser.add_argument(
        "--compiled", choices=BACKENDS, default="", help="capture what torch.compile makes of each"
    )
    parser.add_argument("--every", type=int, default=1, help="only every so many operators")
    parser.add_argument(
        "--show", action="append", default=[], metavar="KIND", help="list outcomes of this kind too"
    )
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    started = time.perf_counter()
    outcomes = [
        outcome
        for case in cases(chosen.names)[:: chosen.every]
        for mode in chosen.mode or MODES
        for outcome in run(case, mode, chosen.samples, chosen.compiled)
    ]
    tell(outcomes, chosen.show)
    print(f"{len(outcomes)} samples in {time.perf_counter() - started:.0f} s")
    return 1 if any(outcome.kind in WRONG for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
