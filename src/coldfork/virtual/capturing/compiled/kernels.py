"""Turn the kernels that torch's compiler wrote into operators, so that every mode sees them run.

The compiler calls its kernels directly with addresses, so torch's dispatcher does not see them. Here each
becomes an operator whose schema says what it reads and writes, and each graph gets a copy of its function,
the twin, which calls the operators instead.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import torch

from coldfork.virtual.capturing.compiled.signatures import Signature, UnreadableKernelError, signatures
from coldfork.virtual.capturing.operators.inference import Twins, key_of, scratch
from coldfork.virtual.capturing.operators.schemas import KERNELS, Operator
from coldfork.virtual.capturing.records import GENERATED


class Trials:
    """The results of trial runs, remembered for each kernel and shape."""

    def __init__(self) -> None:
        self._spared: dict[Any, tuple[bool, ...]] = {}

    def spared(self, operator: Operator, args: Any, kwargs: Any, safe: bool) -> tuple[bool, ...]:
        """Return, for each output, whether some of its elements certainly or possibly keep their value."""
        key = (operator, *map(key_of, args), *map(key_of, kwargs.values()))
        known = self._spared.get(key)
        if known is None:
            known = _tried(operator, args, kwargs) if safe else (True,) * len(operator.outs)
            self._spared[key] = known
        return known


def _tried(operator: Operator, args: Any, kwargs: Any) -> tuple[bool, ...]:
    """Return which outputs a kernel leaves partly unwritten, by running it twice on different bytes."""
    left = []
    for filling in (0x00, 0xFF):
        twins = Twins(scratch)
        mine, by_name = twins.of(args), twins.of(kwargs)
        outs = [_raw(out.of(mine, by_name)) for out in operator.outs]
        for one in outs:
            one.fill_(filling)
        try:
            operator.func(*mine, **by_name)
        except RuntimeError:
            # The kernel has rejected the indices, which are meaningless on scratch memory.
            return (True,) * len(outs)
        left.append(outs)
    return tuple(not torch.equal(one, other) for one, other in zip(*left, strict=True))


def _raw(tensor: Any) -> Any:
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


_ALLOCATORS = ("empty_strided_cpu", "empty_strided_cpu_pinned")
"""The functions by which a generated module allocates memory without the dispatcher."""

_TELLING = 12
"""How many characters of a module's name, which is a hash of its content, are enough to identify it."""


class Kernels:
    """The kernels of this process's compiled graphs, each turned into an operator once."""

    def __init__(self) -> None:
        self._library: Any = None
        self._operators: dict[str, Any] = {}
        self._dividing = set[str]()
        self._trials = Trials()
        self._twins: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}

    def twin(self, compiled: Any) -> Callable[..., Any]:
        """Return a compiled graph's function with operators in place of its kernels."""
        call = compiled.current_callable
        function = getattr(call, "__func__", call)
        namespace = getattr(function, "__globals__", {})
        if _ALLOCATORS[0] not in namespace:
            raise UnreadableKernelError("its code does not look like the output of torch's compiler")
        file = str(namespace["__file__"])
        known = self._twins.get(file)
        if known is None or known[0] is not namespace:
            known = self._twins[file] = namespace, self._names(namespace)
        names = known[1]
        if not isinstance(call, MethodType):
            return _moved(function, names)
        # The compiler may have divided the graph into partitions, which its runner holds.
        runner: Any = copy.copy(call.__self__)
        runner.partitions = [
            _moved(one, names) if isinstance(one, FunctionType) else one for one in runner.partitions
        ]
        return MethodType(_moved(function, names), runner)

    def spared(self, operator: Operator, args: Any, kwargs: Any) -> tuple[bool, ...]:
        """Return for each output of a kernel whether some of its elements may keep their value."""
        safe = operator.short not in self._dividing
        return self._trials.spared(operator, args, kwargs, safe)

    def _names(self, namespace: dict[str, Any]) -> dict[str, Any]:
        """Return the names of a generated module, with operators in place of its kernels."""
        names = dict(namespace)
        file = Path(namespace["__file__"])
        for signature in signatures(file.read_text(encoding="utf-8")):
            names[signature.name] = self._called(signature, file.stem, namespace[signature.name])
        for name in _ALLOCATORS:
            names[name] = _empty_strided
        for name, value in namespace.items():
            if isinstance(value, FunctionType) and value.__globals__ is namespace:
                names[name] = _moved(value, names)
        return names

    def _called(self, signature: Signature, module: str, kernel: Callable[..., None]) -> Any:
        """Return a function that is called like a kernel and calls its operator."""
        # Another module may define a different kernel with the same name.
        name = f"{signature.name}_{module[:_TELLING]}"
        operator = self._operators.get(name)
        if operator is None:
            operator = self._operators[name] = self._operator(name, signature, kernel)
        parameters = signature.parameters

        def call(*args: Any) -> None:
            pairs = list(zip(parameters, args, strict=True))
            given = [value for parameter, value in pairs if not parameter.overwrites]
            operator(*given, **{one.name: value for one, value in pairs if one.overwrites})

        return call

    def _operator(self, name: str, signature: Signature, kernel: Callable[..., None]) -> Any:
        by_name = [(one.name, one.overwrites) for one in signature.parameters]

        def run(*args: Any, **kwargs: Any) -> None:
            given = iter(args)
            kernel(*[kwargs[name] if overwritten else next(given) for name, overwritten in by_name])

        if self._library is None:
            self._library = torch.library.Library(KERNELS, "FRAGMENT")
        if signature.divides:
            self._dividing.add(name)
        self._library.define(name + signature.schema)
        self._library.impl(name, run, "CPU")
        for key in ("Autograd", "ADInplaceOrView"):
            # A kernel changes no version counters, and its graph has its own backward pass.
            self._library.impl(name, torch.library.fallthrough_kernel, key)
        return getattr(getattr(torch.ops, KERNELS), name).default


def _empty_strided(size: Any, stride: Any, dtype: Any) -> Any:
    return torch.empty_strided(size, stride, dtype=dtype)


def _moved(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """Return a copy of a function that uses other globals."""
    # The file name marks these lines as generated, so that they do not count as the program's own.
    code = function.__code__.replace(co_filename=GENERATED)
    moved = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    moved.__kwdefaults__ = function.__kwdefaults__
    return moved
