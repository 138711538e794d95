"""What every module does by itself: evaluated, or remembered until something it needs changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from coldfork.source.evaluation.evaluator import Evaluator
from coldfork.source.evaluation.objects.classes import base_names
from coldfork.source.files.packs import Stamp, content_hash, load_pack, save_pack, stamp
from coldfork.source.files.workers import Worker, can_fork
from coldfork.source.program.loader import Loader
from coldfork.source.program.program import Program
from coldfork.source.reach.encoding import Translation, decode, encode
from coldfork.source.reach.propagation import ModuleResult, targets

Progress = Callable[[str, int, int], None]
#: With fewer modules than this, evaluating them is done before a second process has started.
_WORTH_A_WORKER = 250
#: How many neighbours in the alphabet stay together: they look at the same modules.
_HANDFUL = 32
_MOST_LANES = 2
"""Lanes are followed apart from one another, and each in the same order everywhere.

Where calls go in circles, what is known of one can make a difference to what is found out about another.
So the answer may hang on the lanes, and never on how many processes there are. More lanes would each find
out again what the others know.
"""

#: Where a module was found, and what tells that its file is untouched; None for what was not found.
Place = tuple[str, Stamp | None, bytes] | None


#: What could not be read while a module was followed: module, reason, line, column.
Broken = tuple[tuple[str, str, int, int], ...]


class Results:
    """Module results by name."""

    def __init__(self, program: Program, loader: Loader, pack: Path | None, key: str) -> None:
        self.program = program
        self.loader = loader
        self.pack = pack
        self.key = key
        self.jobs = loader.jobs
        self.by_name: dict[str, ModuleResult] = {}
        """Every module that has a result: the checked ones and those they import."""
        self._raw: dict[str, Any] = {}
        self._broken: dict[str, Broken] = {}
        self._depends: dict[str, int] = {}
        self._kept: dict[str, tuple[Any, Broken, int]] = {}
        """What is known of modules that may not have been reached yet: results, encoded or not."""
        self._places: dict[str, Place] = {}
        self._dirty = False
        self.token: str | None = None
        """Names what is remembered, as long as all of it holds; None as soon as something changed."""
        self._evaluator: Evaluator | None = None

    @property
    def broken(self) -> dict[str, tuple[str, int, int]]:
        """Modules that could not be followed all the way, and why."""
        found: dict[str, tuple[str, int, int]] = {}
        for broken in self._broken.values():
            for name, reason, line, column in broken:
                found.setdefault(name, (reason, line, column))
        return found

    def evaluate(self, roots: Iterable[str], progress: Progress | None = None) -> None:
        """Evaluate the roots and everything they import; call `recall` first."""
        level = self._expanded(roots)
        if not self._kept:  # nearly all that may be imported is: following all of it at once shares it best
            ahead = self._read_ahead(level, progress)
            self._note_derived()
            self._evaluate_many(ahead, progress)
            self._dirty = True
        while level:
            missing = [name for name in level if name not in self._kept]
            if missing:
                self._dirty = True
                self._evaluate_many(missing, progress)
            found: list[str] = []
            for name in level:
                self._take(name, *self._kept[name])
                for site_edge in self.by_name[name].edges:
                    found.extend(targets(site_edge.edge.target, name))
            level = [
                name for name in dict.fromkeys(found) if name not in self.by_name and self._has_source(name)
            ]

    def _expanded(self, roots: Iterable[str]) -> list[str]:
        names: dict[str, None] = {}
        for root in roots:
            for name in targets(root, "") if "/" not in root else [root]:
                if self._has_source(name):
                    names[name] = None
        return list(names)

    def _has_source(self, name: str) -> bool:
        located = self.program.finder.find(name)
        return located is not None and located.path is not None

    # -- reading ------------------------------------------------------------------------------------

    def _note_derived(self) -> None:
        """Have the program know what the classes of every module that was read derive from."""
        derived = self.program.derived
        for state in self.program.loaded():
            if state.name not in derived:
                derived[state.name] = base_names(state.summary)

    def _read_ahead(
        self, level: list[str], progress: Progress | None, known: Iterable[str] = ()
    ) -> list[str]:
        """Have the summaries of everything that may be imported ready, level by level and many at a time.

        What the modules of `known` import is not looked at. Returns the names of what was read.
        """
        finder = self.program.finder
        seen = {*level, *known}
        names_read: list[str] = []
        while level:
            paths: list[str] = []
            for name in level:
                located = finder.find(name)
                if located is not None and located.path is not None:
                    paths.append(located.path)
            self.loader.load_many(paths, progress)
            names_read += level
            following: dict[str, None] = {}
            for name in level:
                state = self.program.module(name)
                if state is None:
                    continue
                for module, depth, names in state.summary.imports:
                    target = state.absolute(module, depth)
                    if target not in following:
                        following.update(dict.fromkeys(targets(target, "")) if target else {})
                    located = finder.find(target) if names and target else None
                    if names is not None and located is not None and located.folders:
                        following.update((f"{target}.{imported}", None) for imported in names)
            level = [name for name in following if name not in seen and self._has_source(name)]
            seen.update(following)
        return names_read

    # -- evaluating ---------------------------------------------------------------------------------

    def _evaluate_many(self, names: list[str], progress: Progress | None) -> None:
        """Evaluate modules, with helper processes when there are many."""
        lanes = _lanes(sorted(names))
        hands = min(self.jobs, len(lanes)) if can_fork() else 1
        apart = len(lanes) > 1

        def share(hand: Any) -> Any:
            done = [(name, *self._evaluate_one(name)) for name in self._along(lanes[hand::hands], apart)]
            packed = [(name, encode(result), broken, depends) for name, result, broken, depends in done]
            return packed, list(self.program.bits)

        workers = [Worker(share) for _ in range(1, hands)]
        for hand, worker in enumerate(workers, 1):
            worker.ask(hand)
        # The first lane comes last: it is what this process knows afterwards, whoever followed the others.
        for name in self._along(lanes[::hands][::-1], apart):
            self._kept[name] = self._evaluate_one(name)
            if progress is not None and len(self._kept) % 16 == 0:
                progress("following imports", len(self._kept) * hands, len(names))
        for worker in workers:
            answered, bits = worker.answer() or ([], [])
            worker.close()
            translate = Translation(bits, self.program)
            for name, raw, broken, depends in answered:
                self._kept[name] = raw, broken, translate(depends)
        for name in names:
            if name not in self._kept:  # a helper died over it
                self._kept[name] = self._evaluate_one(name)

    def _along(self, lanes: Sequence[Sequence[str]], apart: bool) -> Iterator[str]:
        """The modules of some lanes; if they are `apart`, each begins as if nothing had been followed."""
        for lane in lanes:
            if apart:
                self._evaluator = None
            yield from lane

    def _evaluate_one(self, name: str) -> tuple[ModuleResult, Broken, int]:
        """Evaluate one module: its result, what could not be read on the way, and the modules looked at."""
        if self._evaluator is None:
            self._evaluator = Evaluator(self.program)
        program = self.program
        program.consulted = 0
        state = program.module(name)
        if state is None:
            return ModuleResult((), ()), (), program.bit(name)
        try:
            sites, edges = self._evaluator.run_module(state)
        except Exception as problem:  # a fault of ours must not cost the other modules' findings
            self._evaluator = None
            reason = (
                f"could not be followed ({type(problem).__name__}: {problem}); this is a fault of coldfork"
            )
            return ModuleResult((), ()), ((name, reason, 1, 0),), program.consulted
        broken = tuple((name, *reason) for name, reason in program.broken_among(program.consulted))
        return ModuleResult(tuple(sites), tuple(edges)), broken, program.consulted

    def _take(self, name: str, result: Any, broken: Broken, depends: int) -> None:
        if not isinstance(result, ModuleResult):
            self._raw[name] = result
            result = decode(result)
        self.by_name[name] = result
        self._depends[name] = depends
        if broken:
            self._broken[name] = broken

    # -- remembering --------------------------------------------------------------------------------

    def recall(self) -> None:
        """Take what the cache holds, less what depends on a module that changed, came or went."""
        loaded = load_pack(self.pack) if self.pack is not None else None
        if not isinstance(loaded, dict) or loaded.get("key") != self.key:
            return
        names = loaded["names"]
        changed = 0
        for index, (name, place) in enumerate(zip(names, loaded["places"], strict=True)):
            now = self._place(name, place)
            self._places[name] = now
            if index and (now and (now[0], now[2])) != (place and (place[0], place[2])):
                changed |= 1 << index
        if changed:
            self._dirty = True
            changed |= self._hierarchy_changed(names, loaded["derived"], changed)
        else:
            self.token = loaded["token"]
            self.program.derived = loaded["derived"]
        translate = Translation(names, self.program)
        for name, (raw, broken, depends) in loaded["results"].items():
            if not changed & depends:
                self._kept[name] = (raw, broken, translate(depends))

    def _hierarchy_changed(self, names: list[str], before: dict[str, tuple[str, ...]], changed: int) -> int:
        """1 when the modules that changed, or that those now import, alter what derives from what."""
        touched = [name for index, name in enumerate(names) if changed >> index & 1]
        self._read_ahead([name for name in touched if self._has_source(name)], None, before)
        self._note_derived()
        derived = self.program.derived
        altered = any(derived.get(name, ()) != before.get(name, ()) for name in {*touched, *derived})
        # What nothing imports any more stays: it can only make more ways possible than there are.
        self.program.derived = {name: at for name, at in before.items() if name not in touched} | derived
        return int(altered)

    def _place(self, name: str, before: Place) -> Place:
        located = self.program.finder.find(name)
        if located is None:
            return None
        if located.path is None:
            return (f"{located.compiled}", None, b"")
        read = self.loader.seen(located.path)
        if read is not None:
            return located.path, *read
        now = stamp(located.path)
        if (
            before is not None
            and before[0] == located.path
            and before[1] is not None
            and tuple(before[1]) == now
        ):
            return before
        return located.path, now, content_hash(located.path)

    def save(self) -> None:
        """Remember the results, with where everything was that they depend on."""
        if self.pack is None or not self._dirty:
            return
        names = list(self.program.bits)
        places = [self._places.get(name) or self._place(name, None) for name in names]
        results = {
            name: (self._raw.get(name) or encode(result), self._broken.get(name, ()), self._depends[name])
            for name, result in self.by_name.items()
        }
        self.token = os.urandom(8).hex()
        save_pack(
            self.pack,
            {
                "key": self.key,
                "token": self.token,
                "names": names,
                "places": places,
                "results": results,
                "derived": self.program.derived,
            },
        )


def _lanes(names: Sequence[str]) -> list[list[str]]:
    """The modules, dealt out; the same ones are always dealt in the same way."""
    count = min(_MOST_LANES, len(names) // _WORTH_A_WORKER + 1)
    lanes: list[list[str]] = [[] for _ in range(count)]
    for start in range(0, len(names), _HANDFUL):
        lanes[start // _HANDFUL % count] += names[start : start + _HANDFUL]
    return lanes
