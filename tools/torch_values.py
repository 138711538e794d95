"""The values that tools/torch_interpreter.py computes with: constants, and things known only by kind."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Machine:
    """The machine on which torch's functions are followed."""

    accelerator: str
    management: bool = True
    """Whether NVML (cuda) or amdsmi (rocm) answers."""
    nvml_check: bool = False
    """Whether PYTORCH_NVML_BASED_CUDA_CHECK=1 is set."""


@dataclass(frozen=True)
class Constant:
    """A value that is known."""

    value: object


@dataclass(frozen=True)
class Unknown:
    """Not known, but perhaps that it is a number of at least `floor`, or that it is not None."""

    floor: int | None = None
    something: bool = False


@dataclass(frozen=True)
class External:
    """Something outside the sources at hand, by its dotted name; a C function of torch counts too."""

    name: str


@dataclass(frozen=True)
class ModuleValue:
    """A module of torch."""

    name: str


@dataclass(frozen=True)
class Deferred:
    """A name that was imported from a module not looked at yet."""

    module: str
    name: str


@dataclass(frozen=True, eq=False)
class ClassValue:
    """A class of torch."""

    module: str
    node: ast.ClassDef

    @property
    def name(self) -> str:
        """Its canonical dotted name."""
        return f"{self.module}.{self.node.name}"


@dataclass(frozen=True, eq=False)
class FunctionValue:
    """A function or lambda of torch, with what it closes over and, for a method, its `self` and its class."""

    module: str
    node: ast.FunctionDef | ast.Lambda
    scope: dict[str, Value] = field(default_factory=dict)
    bound: Value | None = None
    owner: ClassValue | None = None
    context_manager: bool = False


@dataclass(frozen=True, eq=False)
class InstanceValue:
    """An instance of a class of torch, with the attributes it was given."""

    cls: ClassValue
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PreparedValue:
    """A context manager made by calling a generator function: its body runs on entering."""

    function: FunctionValue
    arguments: tuple[Value, ...]
    keywords: dict[str, Value]


@dataclass(frozen=True, eq=False)
class SuperValue:
    """What `super()` returns in a method of `owner`."""

    owner: ClassValue
    bound: Value | None


Value = (
    Constant
    | Unknown
    | External
    | ModuleValue
    | Deferred
    | ClassValue
    | FunctionValue
    | InstanceValue
    | PreparedValue
    | SuperValue
)

UNKNOWN = Unknown()
NONE = Constant(None)
TRUE = Constant(True)
FALSE = Constant(False)
#: The number of a device.
INDEX = Unknown(0, True)
#: The number of devices: the imagined machine has one at least.
COUNT = Unknown(1, True)
SOMETHING = Unknown(something=True)


def truth(value: Value) -> bool | None:
    """Whether a value counts as true, None if that is not known."""
    if isinstance(value, Constant):
        return bool(value.value)
    if isinstance(value, Unknown):
        return True if value.floor else None
    return None if isinstance(value, External) else True


def is_none(value: Value) -> bool | None:
    """Whether a value is None, None if that is not known."""
    if isinstance(value, Constant):
        return value.value is None
    if isinstance(value, Unknown):
        return False if value.something else None
    return False


def floor(value: Value) -> int | None:
    """The number that a value is not below, if it is known to be a number."""
    if isinstance(value, Unknown):
        return value.floor
    if isinstance(value, Constant) and isinstance(value.value, int):
        return int(value.value)
    return None


def either(left: Value, right: Value) -> Value:
    """What is known of a value that is one of two."""
    if left == right:
        return left
    low, other = floor(left), floor(right)
    if low is not None and other is not None and min(low, other) >= 0:
        return Unknown(min(low, other), True)
    return SOMETHING if is_none(left) is False and is_none(right) is False else UNKNOWN
