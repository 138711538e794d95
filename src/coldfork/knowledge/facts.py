"""Single facts about libraries, selected by machine and version, in the form that the analysis uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from coldfork.model.effects import EffectKind


@dataclass(frozen=True, slots=True)
class ArgumentTest:
    """A test of a call's constant argument that decides whether an effect applies to the call."""

    name: str
    """The keyword of the argument."""
    position: int | None = None
    """Its position among the positional arguments, not counting `self`; None if it is keyword-only."""
    startswith: tuple[str, ...] = ()
    """The argument must be a string that begins with one of these; if empty, any value except None passes.

    A prefix with a dot names objects: `taichi.cuda` is an object of the library taichi. A list passes if any
    element does.
    """
    integers: bool = False
    """Whether an integer passes too: torch takes a bare number for a device of the current accelerator."""
    through: tuple[str, ...] = ()
    """Constructors that merely wrap the value, such as `torch.device`; their first argument is tested
    instead.
    """
    equals: tuple[str | int | bool, ...] = ()
    """The argument must equal one of these."""
    endswith: tuple[str, ...] = ()
    """The argument must be a string that ends with one of these, such as the name of a source file."""
    other_than: tuple[str, ...] = ()
    """The argument must be a string other than these."""
    data: bool = False
    """The argument must not be a function: a decorator that is given types instead may compile at once."""
    negative: bool = False
    """The argument must be a negative number, by which PyTorch means no device."""
    empty: bool = False
    """The argument must be an empty container."""

    def accepts(self, value: object) -> bool:
        """Return whether the constant `value` passes the test; wrappers have already been removed."""
        if self.negative:
            return type(value) is int and value < 0
        if self.empty:
            return isinstance(value, tuple) and not value
        if self.equals:
            return any(value == wanted and type(value) is type(wanted) for wanted in self.equals)
        if self.other_than:
            return isinstance(value, str) and value not in self.other_than
        if isinstance(value, str):
            return value.startswith(self.startswith or "") and value.endswith(self.endswith or "")
        if isinstance(value, int) and not isinstance(value, bool) and self.integers:
            return True
        return value is not None and not self.selects

    def names(self, name: str) -> bool:
        """Return whether an object with this dotted name passes the test."""
        return name.startswith(tuple([start for start in self.startswith if "." in start]))

    @property
    def accepts_any(self) -> bool:
        """Whether any value except None passes the test."""
        return not (self.equals or self.selects or self.integers or self.narrow)

    @property
    def narrow(self) -> bool:
        """Whether only negative numbers or only empty containers pass the test."""
        return self.negative or self.empty

    @property
    def selects(self) -> bool:
        """Whether only certain strings pass the test."""
        return bool(self.startswith or self.endswith or self.other_than)


@dataclass(frozen=True, slots=True)
class Fact:
    """The effect on an accelerator of calling, constructing, reading or importing `symbol`."""

    symbol: str
    does: EffectKind
    accelerator: str
    distribution: str
    condition: str | None = None
    """The rarer host that it requires, if it does not happen on every host of the profile: "a host where NVML
    does not answer".
    """
    unless_env: tuple[str, str] | None = None
    """If this environment variable has this value, `softened()` replaces the fact."""
    argument: ArgumentTest | None = None
    """The effect happens only if an argument passes this test."""
    unless_argument: tuple[ArgumentTest, ...] = ()
    """The effect does not happen if an argument passes one of these tests."""
    source: str = ""
    remedy: str | None = None
    presumes: str = ""
    """A presumption about machines of this kind, which nearly always holds."""
    softens: bool = True
    """A condition under which the effect happens even if the environment variable is set."""
    despite: str = ""
    """The value that an argument must have for the effect, if other values are possible; set at a call."""
    taken: str = ""
    """The value that an argument must have for the failure, if other values are possible; set at a call."""

    def softened(self) -> Fact:
        """Return the fact for a call that the management library answers first, so that the device stays
        cold.
        """
        if self.condition is not None:
            return self
        if self.despite:
            return replace(self, condition=self.despite, unless_env=None)
        return replace(
            self,
            does=EffectKind.QUERIES_DEVICE,
            condition=SILENT_MANAGEMENT[self.accelerator],
            unless_env=None,
        )


#: A host on which queries to the management library fall back to the driver.
SILENT_MANAGEMENT = {
    "cuda": "a host where NVML does not answer",
    "rocm": "a host where amdsmi does not answer",
}


@dataclass(frozen=True, slots=True)
class MethodFact:
    """The effect of calling `method` on an instance of one of `receivers` or of a subclass."""

    method: str
    receivers: tuple[str, ...]
    fact: Fact


@dataclass(frozen=True, slots=True)
class Wildcard:
    """Facts about every name directly inside a module or class, with some exceptions."""

    facts: tuple[Fact, ...]
    excluded: frozenset[str]

    def about(self, symbol: str, name: str) -> tuple[Fact, ...]:
        """Return these facts for `symbol`, whose last part is `name`."""
        if name in self.excluded:
            return ()
        return tuple(replace(fact, symbol=symbol) for fact in self.facts)


class ValueKind(StrEnum):
    """How much is known about a value while no device is awake."""

    NONE = "none"
    TRUE = "true"
    FALSE = "false"
    SET = "set"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Value:
    """The value that an expression has under the profile, as far as it is known."""

    symbol: str
    kind: ValueKind
    constant: str | int | bool | None = None
    """The value itself; if the kind is `set`, the value is only known to be true and not None."""
    source: str = ""

    @property
    def truth(self) -> bool:
        """Whether the value counts as true in a condition."""
        return self.kind is ValueKind.SET or bool(self.constant)

    @property
    def is_none(self) -> bool:
        """Whether the value is None."""
        return self.kind is ValueKind.NONE


@dataclass(frozen=True, slots=True)
class Wraps:
    """A call that turns a function into another; facts about calling the result are under `symbol()`."""

    symbol: str
    function: str
    """The keyword of the first argument; a call without that argument makes a decorator."""
    keeps_value: bool
    """True if the new function returns the result of the given one."""


@dataclass(frozen=True, slots=True)
class Raises:
    """A call that fails on some machines; if it does not fail, the machine is presumed to have a feature."""

    symbol: str
    fails: bool
    """True if the call raises an error under this profile."""
    presumes: str
    """The presumption if it does not raise: "NVML works"."""
    error: str = ""
    """The built-in exception that it raises; empty for one of the library's own."""
    source: str = ""
