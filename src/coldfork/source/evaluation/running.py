"""The state of an evaluator: the module being followed, its environment variables, and names looked up so
far.
"""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.program.module import Module
from coldfork.source.program.package_environment import device_left_by
from coldfork.source.program.program import Program
from coldfork.source.semantics.classes import DefinedClasses
from coldfork.source.syntax.nodes import Code, Node, code_of
from coldfork.source.syntax.variables import DEFAULT_DEVICE
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import FALSE, TRUE, UNKNOWN, ClassRef, Const, Env, Function, Union, Value
from coldfork.source.values.rarer_kinds import Imported
from coldfork.source.values.unions import joined

#: Objects that contain the names of all environment variables.
ENVIRONMENT = frozenset({"os.environ", "os.environ.keys()"})


class EnvironmentVariables:
    """The known state of `os.environ`; a variable that is set to something unknown has the value None."""

    __slots__ = ("_devices", "key", "values")

    def __init__(self) -> None:
        self.values: dict[str, str | None] = {}
        self.key: tuple[tuple[str, str | None], ...] = ()
        """The known state in the form that cache keys use."""
        self._devices: dict[str, str | None] = {}
        """The default device that importing each module sets; None if the module leaves it unchanged."""

    def begin(self, values: dict[str, str | None]) -> None:
        """Start over with the environment variables that are set when a module begins."""
        self.values = dict(values)
        self.key = _key(self.values)

    def imported(self, module: Module) -> None:
        """Adopt the default device that an imported module of the checked code sets, unless one is already
        set.
        """
        if DEFAULT_DEVICE in self.values:
            return
        name = module.name
        if name not in self._devices:
            self._devices[name] = device_left_by(module)
        device = self._devices[name]
        if device is not None:
            self.set(DEFAULT_DEVICE, device)

    def set(self, name: str, value: str | None) -> None:
        """Set one environment variable."""
        self.values[name] = value
        self.key = _key(self.values)


def _key(values: dict[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(values.items(), key=str))


def being_set(name: str) -> Condition:
    """Return the condition that a variable is set although it is presumed to be unset."""
    words = f"the environment variable {name} is set"
    return Condition(words=words, presumes=f"{name} is unset", variable=name)


def is_set(variables: EnvironmentVariables, name: Value) -> Value:
    """Return whether a variable is set; it is presumed to be unset unless the followed code sets it."""
    if isinstance(name, Union):
        return joined([(is_set(variables, single), condition) for single, condition in name.alternatives])
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return UNKNOWN
    if name.value in variables.values:
        return UNKNOWN if variables.values[name.value] is None else TRUE
    return Union(((FALSE, None), (TRUE, being_set(name.value))))


class RunningModule:
    """The module being followed, if any."""

    __slots__ = ("env", "imported", "module", "rebound", "unfollowed")

    def __init__(self) -> None:
        self.module: Module | None = None
        self.env: Env | None = None
        """The variables that the body binds more than once."""
        self.rebound: dict[tuple[str, str], Value] = {}
        """The variables of any modules that functions have rebound since this module began."""
        self.imported: set[Imported] = set()
        """The lazy imports that have been run by reading a name in the body."""
        self.unfollowed: set[tuple[str, int]] = set()
        """The lines with calls that cannot be followed, each with its module."""

    def begin(self, module: Module, env: Env) -> None:
        """Begin to follow another module."""
        self.module, self.env = module, env
        self.rebound.clear()
        self.imported.clear()
        self.unfollowed.clear()

    def end(self) -> None:
        """Stop following the module."""
        self.module = self.env = None


#: A module, a class in it (empty for the module itself), and a name; if the name is bound again later, also
#: the number of its bindings so far.
Key = tuple[str, str, str] | tuple[str, str, str, int]


class Definitions:
    """The values of names, with one object for each top-level function and class of a module."""

    __slots__ = ("_classes", "_codes", "_deriving", "_functions", "_program", "values")

    def __init__(self, program: Program) -> None:
        self._program = program
        self._functions: dict[tuple[str, int], Function] = {}
        self._classes = DefinedClasses()
        self._codes: dict[int, tuple[Node, Code]] = {}
        """Code by the identity of its node; the node is kept alive so that its identity stays unique."""
        self._deriving: dict[str, list[str]] | None = None
        self.values: dict[Key, tuple[Value | None, int]] = {}
        """The values found for names, each with the modules consulted for it."""

    def function(self, module: Module, node: Node, env: Env | None, owner: ClassRef | None) -> Function:
        """Return the function that a DEF node defines; for a module-level definition always the same
        object.
        """
        _, line, name, _decorators, _header, raw = node
        known = self._functions.get((module.name, line)) if env is None else None
        if known is None:
            code = self.code_for(raw, code_of) if raw is not None else None
            known = Function(module, line, name, code, env, owner)
            if env is None:
                self._functions[module.name, line] = known
        return known

    def class_ref(self, module: Module, node: Node, env: Env | None, within: str) -> ClassRef:
        """Return the class that a CLASS node defines; for a module-level definition always the same
        object.
        """
        return self._classes.of(module, node, env, within)

    def code_for(self, node: Node, make: Callable[[Node], Code]) -> Code:
        """Return the code made from a node; always the same object for a node, because cache keys refer to
        it.
        """
        known = self._codes.get(id(node))
        if known is None:
            known = self._codes[id(node)] = node, make(node)
        _, code = known
        return code

    def code_of(self, function: Function) -> Code | None:
        """Return the parameters and block of a function."""
        known = function.code
        return self._program.code_at(function.module, function.line) if known is None else known

    def modules_deriving_from(self, name: str) -> list[str]:
        """Return the modules with a top-level class that has a base with this name."""
        if self._deriving is None:
            self._deriving = {}
            for module, bases in sorted(self._program.derived.items()):
                for base in bases:
                    self._deriving.setdefault(base, []).append(module)
        return self._deriving.get(name, [])
