"""The effects of each module by itself; modules without a cached result are followed in groups, the lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from coldfork.model.observations import Faults, Progress, describe
from coldfork.source.evaluation.evaluator import Evaluator
from coldfork.source.evaluation.trace import Cut
from coldfork.source.files.reading import CannotRead, Reader
from coldfork.source.files.workers import Worker, can_fork
from coldfork.source.program.loader import Loader
from coldfork.source.program.program import Program
from coldfork.source.reach.encoding import Translation, decode, encode
from coldfork.source.reach.propagation import ModuleResult, targets
from coldfork.source.values.conditions import variable_of

#: Fewer modules than this are followed before a second process could even have started.
_WORTH_A_WORKER = 250
#: This many alphabetical neighbours stay in one lane, because they consult the same modules.
_HANDFUL = 32
_MOST_LANES = 2
"""Lanes are followed independently, each in an order that is always the same.

With recursive calls, what is known of one module can affect the results of another. So the answer may depend
on the lanes, but never on the number of processes. More lanes would repeat each other's work.
"""

#: Code that could not be read while a module was followed: the module, the reason, the line and the column.
Broken = tuple[tuple[str, str, int, int], ...]


class Outcome(NamedTuple):
    """The result of following one module."""

    result: ModuleResult | bytes
    """A `ModuleResult`, or the bytes of one."""
    broken: Broken
    depends: int
    """The modules that were consulted, as one bit each."""


class Results:
    """The results of modules, by name."""

    def __init__(
        self,
        program: Program,
        loader: Loader,
        known: dict[str, Outcome],
        faults: Faults,
        evaluator: Callable[[Program], Evaluator] = Evaluator,
        held: bool = False,
    ) -> None:
        self.program = program
        self.loader = loader
        self.jobs: int = loader.jobs
        self._faults = faults
        self._make = evaluator
        self._held = held
        """Whether unpacked results stay in memory, so that they need not be unpacked again."""
        self.known = known
        """Known results, including those of modules that this run has not reached yet."""
        self.by_name: dict[str, ModuleResult] = {}
        """The results of the checked modules and of all modules that they import."""
        self.programs: dict[str, ModuleResult] = {}
        """The effects of starting the programs among the checked modules."""
        self.evaluated: bool = False
        """True once a module without a known result was followed."""
        self._checked: Mapping[str, str] = MappingProxyType({})
        self._optional: dict[str, tuple[str, str]] = {}
        self._named: dict[str, bool] = {}
        self._unimported: Set[str] = frozenset()
        """Modules that no other module imports, as far as imports show."""
        self._evaluator: Evaluator | None = None

    @property
    def broken(self) -> dict[str, tuple[str, int, int]]:
        """Return the modules that could not be followed completely, and the reasons."""
        found: dict[str, tuple[str, int, int]] = {}
        for reached in self.by_name:
            for name, reason, line, column in self.known[reached].broken:
                found.setdefault(name, (reason, line, column))
        return found

    @property
    def unset(self) -> tuple[tuple[str, str], ...]:
        """Return packages, with the environment variables without which their imports were not followed."""
        left = (where for target, where in self._optional.items() if target not in self.by_name)
        return tuple(sorted(set(left)))

    def evaluate(
        self,
        roots: Iterable[str],
        progress: Progress | None = None,
        checked: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Follow the roots and all modules that they import, except those whose results are known.

        Modules outside the `checked` files are followed as if no environment variable were set to make them
        import more: for example, the modules that PyTorch imports to debug itself are as large as those that
        it always imports. A variable that the checked files name may be set.
        """
        self._checked = checked
        level = self._expanded(roots)
        if not self.known:  # in a first run, following all possible imports at once distributes the work best
            ahead = self._faults.attempt(
                lambda: read_ahead(self.program, self.loader, level, progress),
                Ahead(frozenset(level), frozenset()),
            )
            self.loader.close()  # for the remaining files, helpers would cost more memory than they save time
            record_bases(self.program)
            self._unimported = ahead.names - ahead.imported
            self._evaluate_many(list(ahead.names), progress)
        while level:
            found = self._taken_in(level, self.by_name, progress)
            level = [name for name in found if name not in self.by_name]

    def evaluate_programs(self, programs: list[str], progress: Progress | None = None) -> None:
        """Follow modules as Python runs them as programs, and their imports."""
        level = self._taken_in(programs, self.programs, progress)
        while level:
            found = self._taken_in(level, self.by_name, progress)
            level = [name for name in found if name not in self.by_name]

    def _taken_in(
        self, names: list[str], results: dict[str, ModuleResult], progress: Progress | None
    ) -> list[str]:
        """Add the results of these modules, following them if necessary; return the modules to
        follow next.
        """
        missing = [name for name in names if name not in self.known]
        if missing:
            self._evaluate_many(missing, progress)
        found: list[str] = []
        for name in names:
            outcome = self.known[name]
            result = outcome.result
            if isinstance(result, bytes):
                result = decode(result)
                if self._held:
                    self.known[name] = outcome._replace(result=result)
            results[name] = result
            found += self._faults.attempt(partial(self._to_follow, name, result), [], name)
        return list(dict.fromkeys(found))

    def _to_follow(self, name: str, result: ModuleResult) -> list[str]:
        """Return the modules that have to be followed because a module imports them."""
        return [
            target
            for target in dict.fromkeys(self._imported(name, result))
            if target not in self.by_name and has_source(self.program, target)
        ]

    def close(self) -> None:
        """Release the evaluator with its data."""
        if self._evaluator is not None:
            self._evaluator.close()
        self._evaluator = None

    def _imported(self, name: str, result: ModuleResult) -> Iterator[str]:
        """Yield the modules that importing a module runs."""
        for site_edge in result.edges:
            edge = site_edge.edge
            variable = "" if name in self._checked or not edge.off else variable_of(edge.conditions)
            for target in targets(edge.target, name):
                if not variable or not has_source(self.program, target) or self._is_named(variable):
                    yield target
                else:
                    self._optional.setdefault(target, (name.partition(".")[0], variable))

    def _is_named(self, variable: str) -> bool:
        """Return True if a checked file mentions an environment variable."""
        known = self._named.get(variable)
        if known is None:
            spelled = variable.encode("utf-8", "surrogatepass")
            known = any(spelled in _source_of(self.loader.reader, path) for path in self._checked.values())
            self._named[variable] = known
        return known

    def _expanded(self, roots: Iterable[str]) -> list[str]:
        names: dict[str, None] = {}
        for root in roots:
            for name in targets(root, "") if "/" not in root else [root]:
                if has_source(self.program, name):
                    names[name] = None
        return list(names)

    # -- evaluating ---------------------------------------------------------------------------------

    def _evaluate_many(self, names: list[str], progress: Progress | None) -> None:
        """Follow modules, sharing them with helper processes if there are many."""
        self.evaluated = True
        lanes = _lanes(sorted(names))
        hands = min(self.jobs, len(lanes)) if can_fork() else 1
        apart = len(lanes) > 1

        def share(hand: Any) -> Iterator[Any]:
            for name in self._along(lanes[hand::hands], apart):
                one = self._evaluate_one(name)
                result = one.result if isinstance(one.result, bytes) else encode(one.result)
                yield name, result, one.broken, one.depends
            yield list(self.program.bits)

        workers = [Worker(share) for _ in range(1, hands)]
        try:
            self._share_out(names, lanes[::hands], workers, hands, apart, progress)
        except BaseException:
            for worker in workers:
                worker.end()
            raise
        for worker in workers:
            worker.close()
        for name in names:
            if name not in self.known:  # a helper has died while following it
                self.known[name] = self._evaluate_one(name)

    def _share_out(
        self,
        names: list[str],
        ours: Sequence[Sequence[str]],
        workers: Sequence[Worker],
        hands: int,
        apart: bool,
        progress: Progress | None,
    ) -> None:
        """Follow this process's lanes while helpers follow theirs, then add the helpers' results."""
        for hand, worker in enumerate(workers, 1):
            worker.ask(hand)
        # The first lane comes last, so that this process keeps the same state whichever process followed the
        # others.
        for name in self._along(ours[::-1], apart):
            self.known[name] = self._evaluate_one(name)
            if progress is not None and len(self.known) % 16 == 0:
                progress("following imports", len(self.known) * hands, len(names), name)
        for worker in workers:
            answered = list(worker.answer())
            if answered and isinstance(answered[-1], list):
                translate = Translation(answered.pop(), self.program)
                for name, raw, broken, depends in answered:
                    self.known[name] = Outcome(raw, broken, translate(depends))

    def _along(self, lanes: Sequence[Sequence[str]], apart: bool) -> Iterator[str]:
        """Yield the modules of these lanes, starting each lane with a new evaluator if `apart`."""
        for lane in lanes:
            if apart:
                self.close()
            yield from lane

    def _evaluate_one(self, name: str) -> Outcome:
        """Follow one module."""
        program = self.program
        program.consulted = 0
        try:
            if self._evaluator is None:
                self._evaluator = self._make(program)
            state = program.module(name)
            if state is None:
                return Outcome(ModuleResult((), ()), (), program.bit(name))
            result = ModuleResult(*self._evaluator.run_module(state))
            broken = tuple((name, *reason) for name, reason in program.broken_among(program.consulted))
        except Exception as problem:  # a fault in coldfork must not lose the findings in other modules
            self.close()
            cut = Cut(name, name, 1, describe(problem))
            return Outcome(ModuleResult((), (), (cut,)), (), program.consulted)
        if name in self._unimported:
            state.release()
        return Outcome(result, broken, program.consulted)


def _lanes(names: Sequence[str]) -> list[list[str]]:
    """Return the modules divided into lanes; the division is always the same for the same modules."""
    count = min(_MOST_LANES, len(names) // _WORTH_A_WORKER + 1)
    lanes: list[list[str]] = [[] for _ in range(count)]
    for start in range(0, len(names), _HANDFUL):
        lanes[start // _HANDFUL % count] += names[start : start + _HANDFUL]
    return lanes


class Ahead(NamedTuple):
    """The names found by reading modules before any module was followed."""

    names: Set[str]
    imported: Set[str]
    """The names that imports mention: of modules or of their contents."""


def read_ahead(
    program: Program, loader: Loader, level: list[str], progress: Progress | None, known: Iterable[str] = ()
) -> Ahead:
    """Read modules, then those that they may import, and so on.

    The imports of the modules in `known` are skipped.
    """
    finder = program.finder
    seen = {*level, *known}
    imported_names: set[str] = set()
    names_read: dict[str, None] = {}
    while level:
        paths: list[str] = []
        for name in level:
            located = finder.find(name)
            if located is not None and located.path is not None:
                paths.append(located.path)
        loader.load_many(paths, progress)
        names_read.update(dict.fromkeys(level))
        following: dict[str, None] = {}
        for name in level:
            module = program.module(name)
            if module is None:
                continue
            for imported, depth, names in module.outline.imports:
                target = module.absolute(imported, depth)
                if target not in following:
                    following.update(dict.fromkeys(targets(target, "")) if target else {})
                located = finder.find(target) if names and target else None
                if names is not None and located is not None and located.folders:
                    following.update((f"{target}.{member}", None) for member in names)
        level = [name for name in following if name not in seen and has_source(program, name)]
        seen.update(following)
        imported_names.update(following)
    return Ahead(names_read.keys(), imported_names)


def _source_of(reader: Reader, path: str) -> bytes:
    """Return the source of a file; empty if the file cannot be read."""
    try:
        return reader.read_bytes(path)
    except CannotRead:
        return b""


def has_source(program: Program, name: str) -> bool:
    """Return True when the Python source of a module is at hand."""
    located = program.finder.find(name)
    return located is not None and located.path is not None


def record_bases(program: Program) -> None:
    """Record in the program the base classes in every module that was read."""
    derived = program.derived
    for module in program.loaded():
        if module.name not in derived and not module.is_started:
            derived[module.name] = module.outline.bases
