"""Tensors of torch: what its functions, methods, operators and items return is a tensor again."""

from __future__ import annotations

from collections.abc import Iterable

from coldfork.knowledge import tensors
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.values.kinds import External, Value
from coldfork.source.values.unions import alternatives

#: A tensor, or several of them: who takes one out of those, or uses them as one, has a tensor.
TENSOR = External("torch.Tensor()")
CLASSES = frozenset(
    {"torch.Tensor", "torch._tensor.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter"}
)
#: The modules in which functions of torch's namespaces are written, or found under another name.
_MODULES = {
    "torch._C._VariableFunctions.": "",
    "torch._C._fft.fft_": "fft.",
    "torch._C._linalg.linalg_": "linalg.",
    "torch._C._nn.": "nn.functional.",
    "torch._C._special.special_": "special.",
    "torch.functional.": "",
    "torch.": "",
}


def is_tensor(ev: Interpreter, value: Value) -> bool:
    """True for a tensor that some call returned; what `torch.load` returns may be anything."""
    if not isinstance(value, External) or not value.name.endswith("()"):
        return False
    made = value.name[:-2]
    return made in CLASSES or (made != "torch.load" and ev.catalogue.returned(made) in CLASSES)


def are_tensors(ev: Interpreter, value: Value) -> bool:
    """True where every alternative is a tensor."""
    return all(is_tensor(ev, single) for single, _ in alternatives(value))


def function_of(symbol: str) -> str:
    """A function of torch as the knowledge of tensors has it: `nn.functional.relu`; empty for another."""
    for module, name in _MODULES.items():
        if symbol.startswith(module):
            return name + symbol[len(module) :]
    return ""


def returned(symbol: str) -> Value | None:
    """The tensor that a function of torch's returns; None of one that returns something else."""
    return TENSOR if function_of(symbol) in tensors.FUNCTIONS else None


def of_method(receivers: Iterable[str], name: str) -> Value | None:
    """The tensor that a method of one of these classes returns; None of one that returns something else."""
    return TENSOR if name in tensors.METHODS and not CLASSES.isdisjoint(receivers) else None


def of_attribute(ev: Interpreter, value: External, name: str) -> Value | None:
    """The tensor that an attribute of a tensor, or of a named tuple of tensors, is."""
    return TENSOR if name in tensors.ATTRIBUTES and is_tensor(ev, value) else None
