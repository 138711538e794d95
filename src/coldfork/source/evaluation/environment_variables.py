"""Environment variables that the followed code has set."""

from __future__ import annotations

from coldfork.source.program.module import Module
from coldfork.source.program.package_environment import device_left_by
from coldfork.source.syntax.variables import DEFAULT_DEVICE
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import FALSE, TRUE, UNKNOWN, Const, Union, Value
from coldfork.source.values.unions import joined

#: What holds the names of all variables.
ENVIRONMENT = frozenset({"os.environ", "os.environ.keys()"})


class EnvironmentVariables:
    """What is known of `os.environ`: a variable that was set to something unknown is None."""

    __slots__ = ("_devices", "key", "values")

    def __init__(self) -> None:
        self.values: dict[str, str | None] = {}
        self.key: tuple[tuple[str, str | None], ...] = ()
        """The same as a part of what calls are remembered by."""
        self._devices: dict[str, str | None] = {}
        """The default device that importing a module leaves; None of one that leaves it alone."""

    def begin(self, values: dict[str, str | None]) -> None:
        """Start over with the variables that are set when a module begins."""
        self.values = dict(values)
        self.key = _key(self.values)

    def imported(self, module: Module) -> None:
        """Take over the default device that a module of the checked code sets, unless there is one."""
        if DEFAULT_DEVICE in self.values:
            return
        name = module.name
        if name not in self._devices:
            self._devices[name] = device_left_by(module)
        device = self._devices[name]
        if device is not None:
            self.set(DEFAULT_DEVICE, device)

    def set(self, name: str, value: str | None) -> None:
        """Set one variable."""
        self.values[name] = value
        self.key = _key(self.values)


def _key(values: dict[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(values.items(), key=str))


def being_set(name: str) -> Condition:
    """The condition that a variable is set, which is presumed to be unset."""
    words = f"the environment variable {name} is set"
    return Condition(words=words, presumes=f"{name} is unset", variable=name)


def is_set(variables: EnvironmentVariables, name: Value) -> Value:
    """Whether a variable is set: what is not set by the followed code is presumed not to be."""
    if isinstance(name, Union):
        return joined([(is_set(variables, single), condition) for single, condition in name.alternatives])
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return UNKNOWN
    if name.value in variables.values:
        return UNKNOWN if variables.values[name.value] is None else TRUE
    return Union(((FALSE, None), (TRUE, being_set(name.value))))
