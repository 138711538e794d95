"""Single facts about a library, as the analysis meets them: already filtered by machine and version."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from coldfork.model.effects import EffectKind


@dataclass(frozen=True, slots=True)
class ArgumentTest:
    """A test on one constant argument of a call; it says whether an effect belongs to that call."""

    name: str
    """The keyword the argument is known by."""
    position: int | None = None
    """Its place among the positional arguments (a method's `self` not counted); None: by keyword only."""
    startswith: tuple[str, ...] = ()
    """The argument is a string that begins with one of these; empty: any value but None passes.

    One with a dot in it names objects: `taichi.cuda` is what the library keeps under that name. Of a list,
    any element decides.
    """
    integers: bool = False
    """An integer passes too: torch takes a bare number for a device of the current accelerator."""
    through: tuple[str, ...] = ()
    """Constructors that only wrap the value, such as `torch.device`: their first argument is tested."""
    equals: tuple[str | int | bool, ...] = ()
    """The argument is exactly one of these."""
    endswith: tuple[str, ...] = ()
    """The argument is a string that ends with one of these, as the names of source files do."""
    other_than: tuple[str, ...] = ()
    """The argument is a string that is none of these."""
    data: bool = False
    """The argument is no function: a decorator that takes either may compile at once for types."""
    negative: bool = False
    """The argument is a number below zero, with which PyTorch means no device."""
    empty: bool = False
    """The argument is a container that holds nothing."""

    def accepts(self, value: object) -> bool:
        """Say whether the constant `value` passes; whoever asks has looked through the wrappers already."""
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
        """Say whether an object of this dotted name passes."""
        return name.startswith(tuple([start for start in self.startswith if "." in start]))

    @property
    def accepts_any(self) -> bool:
        """Whether any value but None passes."""
        return not (self.equals or self.selects or self.integers or self.narrow)

    @property
    def narrow(self) -> bool:
        """Whether only numbers, or only containers, of one kind pass."""
        return self.negative or self.empty

    @property
    def selects(self) -> bool:
        """Whether only some strings pass."""
        return bool(self.startswith or self.endswith or self.other_than)


@dataclass(frozen=True, slots=True)
class Fact:
    """Calling, constructing, reading or importing `symbol` does this to an accelerator."""

    symbol: str
    does: EffectKind
    accelerator: str
    distribution: str
    condition: str | None = None
    """Set when it takes a rarer host than the profile describes: "a host where NVML does not answer"."""
    unless_env: tuple[str, str] | None = None
    """With this environment variable set so, the fact turns into `softened()`."""
    argument: ArgumentTest | None = None
    """The effect needs an argument that passes this test."""
    unless_argument: tuple[ArgumentTest, ...] = ()
    """The effect does not happen when an argument passes one of these tests."""
    source: str = ""
    remedy: str | None = None
    presumes: str = ""
    """What has to be so on a machine of this kind, and nearly always is."""
    softens: bool = True
    """False where nothing is told of the call while the environment variable is set."""
    despite: str = ""
    """A condition under which it happens although the environment variable is set."""
    taken: str = ""
    """The value that an argument has to have for it, where it may have others; it is set at a call."""

    def softened(self) -> Fact:
        """The same call where the management library answers first, so that the device stays cold."""
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


#: The host on which a question to the management library falls through to the driver.
SILENT_MANAGEMENT = {
    "cuda": "a host where NVML does not answer",
    "rocm": "a host where amdsmi does not answer",
}


@dataclass(frozen=True, slots=True)
class MethodFact:
    """Calling method `method` on an instance of one of `receivers`, or of a class derived from one."""

    method: str
    receivers: tuple[str, ...]
    fact: Fact


@dataclass(frozen=True, slots=True)
class Wildcard:
    """Facts about every name directly inside a module or class, but for some."""

    facts: tuple[Fact, ...]
    excluded: frozenset[str]

    def about(self, symbol: str, name: str) -> tuple[Fact, ...]:
        """The facts as they read for `symbol`, whose last part is `name`."""
        if name in self.excluded:
            return ()
        return tuple(replace(fact, symbol=symbol) for fact in self.facts)


class ValueKind(StrEnum):
    """What is known about a value before any device is awake."""

    NONE = "none"
    TRUE = "true"
    FALSE = "false"
    SET = "set"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression evaluates to under the profile, as far as it is known."""

    symbol: str
    kind: ValueKind
    constant: str | int | bool | None = None
    """The value itself, unless the kind is `set`: true, not None, otherwise unknown."""
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
    """A call that makes a function of the one it is given; what that does is told under `symbol()`."""

    symbol: str
    function: str
    """The keyword of the first argument; a call without it makes a decorator."""
    keeps_value: bool
    """True where the new function returns what the given one does."""


@dataclass(frozen=True, slots=True)
class Raises:
    """A call whose failing is settled by the machine: either it raises, or something is presumed."""

    symbol: str
    fails: bool
    """True: under this profile the call raises."""
    presumes: str
    """What is taken for granted when it does not raise: "NVML works"."""
    source: str = ""
