"""The modules of one analysis, found and read when needed; records which ones were consulted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from coldfork.source.files.started import imported
from coldfork.source.program.project import Project

if TYPE_CHECKING:
    from coldfork.knowledge.catalogue import Catalogue
    from coldfork.knowledge.known import Known
    from coldfork.model.terms.machines import Profile
    from coldfork.source.files.finder import Finder, Located
    from coldfork.source.files.site_packages import Distributions
    from coldfork.source.program.module import Files, Module
    from coldfork.source.syntax.nodes import Code

#: Stands for the class hierarchy of all modules among the dependencies of a result.
HIERARCHY = "*"
_NO_PROJECT = Project()


T = TypeVar("T")


def proceed() -> None:
    """Do nothing; this is the `pause` of an analysis that cannot be cancelled."""


class Program:
    """All modules that an analysis may read."""

    def __init__(
        self,
        finder: Finder,
        files: Files,
        known: Known,
        profile: Profile,
        target_version: tuple[int, int],
        distributions: Distributions,
        project: Project = _NO_PROJECT,
    ) -> None:
        self.finder = finder
        self._known = known
        self.profile = profile
        self.target_version = target_version
        self.versions: dict[str, str] = distributions.versions
        self.project = project
        self._distributions = distributions
        self._files = files
        self._modules: dict[str, Module | None] = {}
        self._kept: dict[object, Any] = {}
        self.hurried = False
        """True if a user is waiting after an edit: programs are followed less far."""
        self.pause: Callable[[], None] = proceed
        """Called before a function is followed; it may end the analysis."""
        self.consulted: int = 0
        """The modules consulted since this was last cleared, one bit each: the dependencies of a result."""
        self.bits: dict[str, int] = {HIERARCHY: 1}
        self.inside_missing: dict[str, int] = {}
        """For names inside a missing module or a module without submodules: the bit of that module."""
        self.derived: dict[str, tuple[str, ...]] = {}
        """For every module of the analysis, the last parts of the names of its top-level classes' bases."""
        self.unparsed: list[Module] = []
        """Modules with a function that does not parse."""

    @cached_property
    def catalogue(self) -> Catalogue:
        """The facts that are known about libraries."""
        return self._known.catalogue

    def close(self) -> None:
        """Release the modules and all values derived from them, which would otherwise keep each
        other alive.
        """
        self._modules.clear()
        self._kept.clear()

    def kept(self, make: Callable[[Program], T]) -> T:
        """Return the result of `make` for this program, computing it only once."""
        if make not in self._kept:
            self._kept[make] = make(self)
        made: T = self._kept[make]
        return made

    def bit(self, name: str) -> int:
        """Return the bit that represents a module in `consulted`."""
        bit = self.bits.get(name) or self.inside_missing.get(name)
        if bit is None:
            bare = self._bare_above(name)
            if bare is not None:
                bit = self.inside_missing[name] = self.bit(bare)
            else:
                bit = self.bits[name] = 1 << len(self.bits)
        return bit

    def _bare_above(self, name: str) -> str | None:
        """Return the ancestor of a missing module that must change before the module can exist; None without
        one.
        """
        top, within, _ = name.partition(".")
        if not within or self.finder.find(name) is not None:
            return None
        if self.finder.find(top) is None:
            return top
        above = name.rpartition(".")[0]
        located = self.finder.find(above)
        return above if located is not None and not located.folders else None

    def module(self, name: str) -> Module | None:
        """Return the module with this name; None if its Python source is not at hand."""
        try:
            state = self._modules[name]
        except KeyError:
            located = self.finder.find(name)
            state = None
            if located is not None and located.path is not None:
                # Reading a module needs most of `syntax`; a run whose answer is recalled reads none.
                from coldfork.source.program.module import Module

                state = Module(name, located, self._files, self.finder.beside.get(imported(name)))
                state.bit = self.bit(name)
            self._modules[name] = state
        self.consulted |= self.bit(name) if state is None else state.bit
        return state

    def find(self, name: str) -> Located | None:
        """Return the location of a module; None if it is not found."""
        self.consulted |= self.bit(name)
        return self.finder.find(name)

    def exists(self, name: str) -> bool:
        """Return True if a module can be found, with or without source."""
        return self.find(name) is not None

    def loaded(self) -> list[Module]:
        """Return every module read so far."""
        return [state for state in self._modules.values() if state is not None]

    def broken_among(self, consulted: int) -> list[tuple[str, tuple[str, int, int]]]:
        """Return the consulted modules in which a function has a syntax error, each with that error."""
        return [(s.name, s.broken) for s in self.unparsed if s.broken is not None and s.bit & consulted]

    def entry_points(self, group: str) -> tuple[tuple[str, str], ...]:
        """Return the name and target of each entry point in a group, from all installed distributions."""
        return self._distributions.entry_points(group)

    def read_source(self, path: str) -> bytes:
        """Return the source of a file; raise `CannotRead` if it cannot be read."""
        return self._files.reader.read_source(path)

    def code_at(self, module: Module, line: int) -> Code | None:
        """Return the parameters and block of the function that begins at a line of a module."""
        code = module.code_at(line)
        if code is None and module not in self.unparsed:
            self.unparsed.append(module)
        return code
