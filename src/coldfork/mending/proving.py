"""Proves fixes: imports the mended modules before and after, compares their contents, and runs the tests."""

from __future__ import annotations

import ast
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from coldfork.launch.plumbing.ask import Ended, apart, until_its_end
from coldfork.launch.probe.probe import ProbeRequest, probe
from coldfork.launch.probe.report_paths import root_by_name
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.mending.copies import Copy, copies
from coldfork.mending.mender import MendedFile, Mending
from coldfork.model.causes import Audience, CheckedModule
from coldfork.model.observations import Progress
from coldfork.model.probes import CommandEnd, ModuleProbe, ModuleProof, NameChange, Probing, Proof, TestsProof

_TESTS_SECONDS = 3600.0
"""Tests that take longer than this are ended, together with the processes that they started."""


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """The options for proving fixes."""

    setup: ProbeSetup
    folder: Path
    """The project's own folder, in which its tests run."""
    command: str | None = None
    """The command that runs the project's own tests."""
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class _Place:
    """How to import a mended module: its file, and the folder from which its dotted name counts."""

    module: CheckedModule
    root: str
    file: MendedFile


def prove(
    mending: Mending, files: Sequence[MendedFile], request: ProofRequest, progress: Progress | None = None
) -> Proof:
    """Compare the mended files with their originals."""
    modules = {module.file: module for module in mending.inspection.observation.modules if module.file}
    touched = [(modules[file.file], file) for file in files if file.file in modules]
    places: list[_Place] = []
    proofs: dict[str, ModuleProof] = {}
    for module, file in touched:
        root = root_by_name(file.file, module.name)
        reason = _refusal(module, root)
        proofs[module.path] = ModuleProof(module.name, module.path, reason)
        if not reason and root is not None:
            places.append(_Place(module, root, file))
    tests, interrupted = None, False
    sources = _sources(places, request, files)
    before = {file.file: file.before for file in files}
    after = {file.file: file.after for file in files}
    if places or (request.command and files):
        with copies(sources, before, after) as (old, new):
            roots = tuple(dict.fromkeys(place.root for place in places))
            seen, interrupted = _imported(places, roots, request, old, new, progress)
            proofs |= {
                place.module.path: _compared(place, seen[place.module.path], (old, new)) for place in places
            }
            if request.command and files and not interrupted:
                tests = _tests(request.command, roots, request, old, new)
    device = f"virtual:{request.setup.virtual}" if request.setup.virtual else "real"
    left = len(mending.report.causes)
    return Proof(device, len(mending.mended), left, tuple(proofs.values()), tests, interrupted)


def _refusal(module: CheckedModule, root: str | None) -> str:
    if module.path.endswith(".ipynb"):
        return "it is a notebook, which cannot be imported"
    if module.name.rpartition(".")[2] == "__main__":
        return "it is a program, and an import would run it"
    if module.audience is Audience.BUILD:
        return "it builds the package, and an import would start the build"
    return "" if root is not None else f"its file is not where an import of {module.name} would look"


def _sources(places: Iterable[_Place], request: ProofRequest, files: Sequence[MendedFile]) -> list[Path]:
    """Return what to copy: the top-level packages, and the folder in which the tests run."""
    tops = [Path(place.root, Path(place.file.file).relative_to(place.root).parts[0]) for place in places]
    if request.command and files:
        tops.insert(0, request.folder)
    return list(dict.fromkeys(tops))


def _imported(
    places: Sequence[_Place],
    roots: tuple[str, ...],
    request: ProofRequest,
    old: Copy,
    new: Copy,
    progress: Progress | None,
) -> tuple[dict[str, tuple[ModuleProbe | None, ModuleProbe | None]], bool]:
    """Import all modules in both copies; return the results by path, and whether the user
    interrupted this.
    """
    found: dict[str, tuple[ModuleProbe | None, ModuleProbe | None]] = {}
    interrupted = False
    for root in roots:
        here = [place for place in places if place.root == root]
        names = tuple(place.module.name for place in here)

        def importing(
            copy: Copy, asked: Mapping[str, Sequence[str]], names: tuple[str, ...] = names
        ) -> Probing:
            before = (*(str(copy.place(each)) for each in roots), *roots, *request.setup.before)
            # Python searches the working directory first, and it may be the one with the originals.
            folder = str(copy.folder(Path.cwd()))
            setup = replace(request.setup, before=before, names=asked, root=str(copy.root), folder=folder)
            return probe(ProbeRequest(names, setup, request.jobs), progress)

        first = importing(old, {})
        asked = {each.module: tuple(each.values or ()) for each in first.modules}
        second = Probing("", ()) if first.interrupted else importing(new, asked)
        interrupted = interrupted or first.interrupted or second.interrupted
        before, after = ({each.module: each for each in run.modules} for run in (first, second))
        found |= {
            place.module.path: (before.get(place.module.name), after.get(place.module.name)) for place in here
        }
    return found, interrupted


def _compared(
    place: _Place, seen: tuple[ModuleProbe | None, ModuleProbe | None], copies: tuple[Copy, Copy]
) -> ModuleProof:
    """Judge a fix by comparing the imports of its module in both copies."""
    module, path = place.module.name, place.module.path
    before, after = seen
    if before is None or after is None:
        return ModuleProof(module, path, "the imports were interrupted before its own was done")
    proof = ModuleProof(module, path, before=before, after=after)
    if not (before.judged or after.judged):
        return replace(proof, reason=before.reason or "")
    for one, copy in zip((before, after), copies, strict=True):
        if one.file is not None and Path(one.file) != copy.place(place.file.file):
            return replace(proof, reason=f"the interpreter imports {module} from {one.file}")
    if before.values is None or after.values is None:
        return proof
    same, alike, changes = 0, 0, []
    imports = _imported_names(place.file.before)
    for name, (text, is_exact) in before.values.items():
        there = after.values.get(name)
        if there is not None and there[0] == text:
            same, alike = same + is_exact, alike + (not is_exact)
        else:
            is_import = there is None and (name in imports or text.startswith("the module "))
            changes.append(NameChange(name, text, None if there is None else there[0], is_import))
    return replace(proof, same=same, alike=alike, changes=tuple(changes))


def _imported_names(text: bytes) -> frozenset[str]:
    """Return the names that the import statements of a file bind."""
    with suppress(SyntaxError, ValueError, RecursionError):
        return frozenset(
            (alias.asname or alias.name).partition(".")[0]
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        )
    return frozenset()


def _tests(command: str, roots: tuple[str, ...], request: ProofRequest, old: Copy, new: Copy) -> TestsProof:
    """Run the project's own tests in both copies."""
    ends = []
    for copy in (old, new):
        setup = replace(request.setup, before=tuple(str(copy.place(root)) for root in roots))
        ours = setup.variables()
        variables = {name: text for name, text in ours.items() if not name.startswith("COLDFORK_")}
        beside = str(Path(request.setup.python).parent)
        variables["PATH"] = os.pathsep.join(filter(None, [beside, variables.get("PATH")]))
        ends.append(apart(_running(shlex.split(command), variables, str(copy.place(request.folder)))))
    return TestsProof(command, *map(_end, ends))


def _running(
    command: Sequence[str], variables: Mapping[str, str], folder: str
) -> Callable[[Callable[[], bool]], Ended]:
    def run(stop: Callable[[], bool]) -> Ended:
        try:
            return until_its_end(command, variables, timeout=_TESTS_SECONDS, stop=stop, folder=folder)
        except OSError as error:
            return Ended(127, None, False, f"{command[0]}: {error.strerror}", False)

    return run


def _end(ended: Ended) -> CommandEnd:
    if ended.timed_out:
        return CommandEnd(None, f"did not end within {_TESTS_SECONDS:g} s")
    if ended.signal is not None:
        return CommandEnd(None, f"ended by {ended.signal}")
    last = next(filter(None, map(str.strip, reversed(ended.output.splitlines()))), "")
    return CommandEnd(ended.status, last.strip("= "))
