"""The audience of a module: users, who import the package, or only those who build, test or try it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coldfork.model.causes import Audience, CheckedModule
from coldfork.source.files.discovery import Found
from coldfork.source.files.started import is_test
from coldfork.source.program.program import Program
from coldfork.source.reach.propagation import Importers
from coldfork.source.reach.quotations import Quotations
from coldfork.source.syntax import nodes
from coldfork.source.syntax.walk import walk

_EXAMPLES = frozenset({
    "benchmark", "benchmarks", "cookbook", "cookbooks", "demo", "demos", "doc", "docs", "documentation",
    "example", "examples", "notebook", "notebooks", "playground", "playgrounds", "sample", "samples",
    "tutorial", "tutorials",
})  # fmt: skip
#: More names of folders of examples; these count only if a program is inside.
_PROGRAMS = frozenset({"experiments", "recipes"})
_SCRIPTS = frozenset({"bin", "scripts", "tools"})
#: Audiences whose modules neither the library nor the build imports; a module that they do import changes
#: audience.
_NARROW = frozenset({Audience.EXAMPLE, Audience.TEST})
#: The file names that setuptools, Poetry and Sphinx run.
_BUILDS = frozenset({"build.py", "conf.py", "setup.py"})
#: A file with this name in a package builds the package, if nothing in the package imports it.
_BUILDER = "build.py"
_IMPORTING = (nodes.BY_IMPORT, nodes.BY_FROM)


class Audiences:
    """Determines the audience of every checked module."""

    def __init__(self, program: Program, found: Found, importers: Importers, quotations: Quotations) -> None:
        self._program = program
        self._found = found
        self._importers = importers
        self._quotations = quotations
        self._above: dict[str, str] = {}

    def modules(self, waking: Iterable[str]) -> tuple[CheckedModule, ...]:
        """Return the checked modules with their audiences; only `waking` modules are examined as possible
        programs.
        """
        paths = {name: self._quotations.path_of(name) for name in self._found.files}
        audiences = {name: self._by_place(name, path) for name, path in paths.items()}
        self._lower(audiences)
        self._lift(audiences)
        self._set_aside(audiences, paths)
        for name in waking:
            # this module builds the package that contains it
            builds = paths[name].rpartition("/")[2] == _BUILDER
            if audiences[name] is Audience.LIBRARY and builds and not self._is_imported(name):
                audiences[name] = Audience.BUILD
            if audiences[name] is Audience.LIBRARY and self._is_program(name):
                in_package = name not in self._found.display
                audiences[name] = (
                    Audience.EXAMPLE if in_package and _holds(paths[name], _EXAMPLES) else Audience.SCRIPT
                )
        return tuple([
            CheckedModule(name, path, audiences[name], self._is_imported(name), self._found.files[name])
            for name, path in paths.items()
        ])  # fmt: skip

    def plain(self) -> Iterator[CheckedModule]:
        """Yield the checked modules, each with the audience of a library."""
        for name, file in self._found.files.items():
            yield CheckedModule(name, self._quotations.path_of(name), Audience.LIBRARY, True, file)

    def _by_place(self, name: str, path: str) -> Audience:
        plain = name in self._found.display
        # For a package, the folders above it count; names of folders inside it mean less.
        folders = path if plain else f"{self._folders_above(name, path)}{path.partition('/')[0]}/"
        if is_test(name, path) or is_test(name, folders):
            return Audience.TEST
        if plain and path.rpartition("/")[2] in _BUILDS:
            return Audience.BUILD
        if _holds(folders, _EXAMPLES):
            return Audience.EXAMPLE
        return Audience.SCRIPT if path.endswith(".ipynb") else Audience.LIBRARY

    def _folders_above(self, name: str, path: str) -> str:
        """Return the folders between a given path and the top-level package, such as `examples/`; empty
        without any.
        """
        root = self._found.files[name].removesuffix(f"/{path}")
        known = self._above.get(root)
        if known is None:
            outer = min((one for one in self._found.roots if f"{root}/".startswith(f"{one}/")), default=root)
            known = self._above[root] = f"{root[len(outer) :].lstrip('/')}/".lstrip("/")
        return known

    def _lower(self, audiences: dict[str, Audience]) -> None:
        """Assign plain files that only build scripts import to the build."""
        pending = [name for name, known in audiences.items() if known is Audience.BUILD]
        while pending:
            builder = pending.pop()
            for name in self._found.display:
                importers = self._own_importers(name)
                if builder not in importers or audiences[name] is not Audience.LIBRARY:
                    continue
                if all(audiences[importer] is Audience.BUILD for importer in importers):
                    audiences[name] = Audience.BUILD
                    pending.append(name)

    def _lift(self, audiences: dict[str, Audience]) -> None:
        """Assign everything that the library imports to the library, and what the build imports to
        the build.
        """
        narrow = {name: self._own_importers(name) for name, one in audiences.items() if one in _NARROW}
        changed = True
        while changed:
            changed = False
            for name, importers in narrow.items():
                found = (audiences[one] for one in importers)
                widest = min(found, key=lambda audience: audience.rank, default=audiences[name])
                if widest.rank < audiences[name].rank and widest not in _NARROW:
                    audiences[name], changed = widest, True

    def _set_aside(self, audiences: dict[str, Audience], paths: dict[str, str]) -> None:
        """Assign modules in a package's folder of examples to the examples, if only that folder
        imports them.
        """
        folders: dict[str, list[str]] = {}
        for name, path in paths.items():
            if name not in self._found.display and (folder := _folder_of_examples(path)):
                folders.setdefault(folder, []).append(name)
        for folder, names in folders.items():
            inside = set(names)
            importers = {one for name in names for one in self._own_importers(name)} - inside
            if any(audiences[one] not in _NARROW for one in importers):
                continue
            named = folder.rpartition("/")[2] in _EXAMPLES
            if named or any(self._starts(name, paths[name]) for name in names):
                library = (name for name in names if audiences[name] is Audience.LIBRARY)
                audiences.update(dict.fromkeys(list(library), Audience.EXAMPLE))

    def _starts(self, name: str, path: str) -> bool:
        """Return True for a file that is meant to be run: a `__main__.py`, or one with a main guard."""
        return path.endswith("__main__.py") or self._quotations.has_main_guard(name)

    def _own_importers(self, name: str) -> set[str]:
        return {importer for importer, _ in self._importers.get(name, ()) if importer in self._found.files}

    def _is_imported(self, name: str) -> bool:
        importers = self._importers.get(name)
        return importers is not None and any(importer in self._found.files for importer, _ in importers)

    def _is_program(self, name: str) -> bool:
        """Return True for a module that nothing imports and whose module level runs a program."""
        path = self._quotations.path_of(name)
        if path.endswith("/__init__.py") or self._is_imported(name):
            return False
        if self._starts(name, path) or self._parses_command_line(name):
            return True
        if name in self._found.display:
            return _holds(path, _SCRIPTS) or self._calls_at_module_level(name)
        return self._calls_at_module_level(name) and not self._offers(name)

    def _offers(self, name: str) -> bool:
        """Return True if a module binds a name that other code might want to import."""
        module = self._program.module(name)
        binds = module.summary.binds if module is not None else {}
        return any(how not in _IMPORTING for entries in binds.values() for how, *_ in entries)

    def _parses_command_line(self, name: str) -> bool:
        """Return True if importing the module ends the process unless the command line is meant for it."""
        module = self._program.module(name)
        body = module.summary.body if module is not None else ()
        return any(map(_parses_command_line, walk(body)))

    def _calls_at_module_level(self, name: str) -> bool:
        """Return True if a statement of the module is a bare call, such as `main()`."""
        module = self._program.module(name)
        body = module.summary.body if module is not None else ()
        return any(node[0] == nodes.EXPR and node[-1][0] == nodes.CALL for node in body)


def _folder_of_examples(path: str) -> str:
    """Return the outermost folder of examples in a path, with the folders above it; empty if there
    is none.
    """
    parts = path.split("/")[:-1]
    named = (at for at, part in enumerate(parts) if part in _EXAMPLES or part in _PROGRAMS)
    at = next(named, None)
    return "" if at is None else "/".join(parts[: at + 1])


def _parses_command_line(node: nodes.Node) -> bool:
    if node[0] != nodes.CALL:
        return False
    _, function, positional, keywords, *_ = node
    return nodes.last_name(function) in nodes.PARSING and not positional and not keywords


def _holds(path: str, names: frozenset[str]) -> bool:
    """Return whether a folder of the path has one of these names; False for an absolute path."""
    return not path.startswith("/") and not names.isdisjoint(path.split("/")[:-1])
