"""The modules of one analysis: summaries on demand, and the functions and classes they define."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.knowledge.catalogue import Catalogue
from coldfork.model.profiles import Profile
from coldfork.source.files.finder import Finder, Located
from coldfork.source.files.reading import Unreadable, read_source
from coldfork.source.files.site_packages import Environment
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.summary import Summary, function_code
from coldfork.source.syntax.syntax_errors import explain_body
from coldfork.source.values.kinds import ClassRef, Env, Function, Value

#: Stands, in the dependencies of a result, for which classes derive from which in all modules there are.
HIERARCHY = "*"


class ModuleState:
    """One module: its summary, and what has been asked of it so far."""

    __slots__ = (
        "bit",
        "broken",
        "classes",
        "codes",
        "functions",
        "located",
        "name",
        "own",
        "package",
        "path",
        "source",
        "summary",
        "values",
    )

    def __init__(self, name: str, located: Located, summary: Summary) -> None:
        self.name = name
        self.located = located
        self.path = located.path or ""
        self.own = located.own
        self.package = name if located.is_package else name.rpartition(".")[0]
        self.summary = summary
        self.source: bytes | None = None
        self.codes: dict[int, Node | None] = {}
        self.bit = 0
        self.broken: tuple[str, int, int] | None = None
        """Why a function of this module could not be followed: the first that does not parse."""
        self.values: dict[tuple[str, str], tuple[Value | None, int]] = {}
        """What names were found to hold, each with the modules that were looked at for it."""
        self.functions: dict[int, Function] = {}
        self.classes: dict[int, ClassRef] = {}

    def forget(self) -> None:
        """Forget what was found out about names; what was read stays."""
        self.values.clear()
        self.functions.clear()
        self.classes.clear()

    def code_at(self, line: int) -> Node | None:
        """The code of a function whose body was blanked; None when it cannot be read any more."""
        try:
            return self.codes[line]
        except KeyError:
            pass
        span = self.summary.spans.get(line)
        code: Node | None = None
        if span is not None:
            if self.source is None:
                try:
                    self.source = read_source(self.path)
                except Unreadable:
                    self.source = b""
            code = function_code(self.source, span[0], span[1], line)
            if code is None and self.broken is None:
                self.broken = (explain_body(self.source, span[0], span[1]), line, 0)
        self.codes[line] = code
        return code

    def absolute(self, module: str | None, level: int) -> str:
        """The absolute name of what an import statement of this module names."""
        if level == 0:
            return module or ""
        base = self.package
        for _ in range(level - 1):
            base = base.rpartition(".")[0]
        if not base:
            return module or ""
        return f"{base}.{module}" if module else base


class Program:
    """All modules an analysis may look into."""

    def __init__(
        self,
        finder: Finder,
        load: Callable[[str, Located], Summary],
        catalogue: Catalogue,
        profile: Profile,
        target_version: tuple[int, int],
        environment: Environment,
    ) -> None:
        self.finder = finder
        self.catalogue = catalogue
        self.profile = profile
        self.target_version = target_version
        self.environment = environment
        self.versions = environment.versions
        self._load = load
        self._modules: dict[str, ModuleState | None] = {}
        self.consulted = 0
        """Modules looked at since this was last cleared, a bit each: what a result depends on."""
        self.bits: dict[str, int] = {HIERARCHY: 1}
        self.derived: dict[str, tuple[str, ...]] = {}
        """For every module of the analysis, what its top-level classes derive from: last parts of names."""
        self.unparsed: list[ModuleState] = []
        """Modules with a function that does not parse."""

    def bit(self, name: str) -> int:
        """The bit that stands for a module in `consulted`."""
        bit = self.bits.get(name)
        if bit is None:
            bit = self.bits[name] = 1 << len(self.bits)
        return bit

    def module(self, name: str) -> ModuleState | None:
        """The module, or None when no Python source of it is at hand."""
        try:
            state = self._modules[name]
        except KeyError:
            located = self.finder.find(name)
            state = None
            if located is not None and located.path is not None:
                state = ModuleState(name, located, self._load(name, located))
                state.bit = self.bit(name)
            self._modules[name] = state
        self.consulted |= self.bit(name) if state is None else state.bit
        return state

    def find(self, name: str) -> Located | None:
        """Where a module is, or None."""
        self.consulted |= self.bit(name)
        return self.finder.find(name)

    def exists(self, name: str) -> bool:
        """True when the module can be found, with or without source."""
        return self.find(name) is not None

    def loaded(self) -> list[ModuleState]:
        """Every module read so far."""
        return [state for state in self._modules.values() if state is not None]

    def broken_among(self, consulted: int) -> list[tuple[str, tuple[str, int, int]]]:
        """Of the modules looked at, those with a function that does not parse."""
        return [(s.name, s.broken) for s in self.unparsed if s.broken is not None and s.bit & consulted]

    def entry_points(self, group: str) -> tuple[tuple[str, str], ...]:
        """Name and target of the entry points that installed distributions declare for a group."""
        return self.environment.entry_points(group)

    def function(self, module: ModuleState, node: Node, env: Env | None, owner: ClassRef | None) -> Function:
        """The function that a DEF node defines; one object a module-level definition."""
        if env is None:
            known = module.functions.get(node[1])
            if known is not None:
                return known
        made = Function(module, node[1], node[2], node[5], env, owner)
        if env is None:
            module.functions[node[1]] = made
        return made

    def class_ref(self, module: ModuleState, node: Node, env: Env | None, within: str) -> ClassRef:
        """The class that a CLASS node defines; one object a module-level definition."""
        if env is None:
            known = module.classes.get(node[1])
            if known is not None:
                return known
        made = ClassRef(module, node, env, f"{within}.{node[2]}" if within else node[2])
        if env is None:
            module.classes[node[1]] = made
        return made

    def code_of(self, function: Function) -> Node | None:
        """Parameters and block of a function."""
        if function.code is not None:
            return function.code
        code = function.module.code_at(function.line)
        if code is None and function.module not in self.unparsed:
            self.unparsed.append(function.module)
        return code
