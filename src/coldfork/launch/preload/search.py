"""Find the modules that may be preloaded for a worker, and check whether an existing list is still clean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

from coldfork.launch.plumbing.ask import apart
from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.preload import runs
from coldfork.launch.preload.runs import Event, Run
from coldfork.launch.preload.sources import Sources, read_sources
from coldfork.launch.probe.comparison import device_before
from coldfork.launch.probe.report_paths import Origins
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.launch.server.variables import pretended, while_importing
from coldfork.model.errors import UsageError
from coldfork.model.observations import Progress
from coldfork.model.preloads import LeftOut, Preloading

_MOST_PROOFS = 12
"""How often a list is tried as a whole; each time it is one module shorter."""
_PATIENCE = 40
"""How long the whole search may take, in multiples of the time allowed for one import."""
_SPOKEN = {"bare": "importing", "descend": "searching", "prove": "proving"}


@dataclass(frozen=True, slots=True)
class PreloadRequest:
    """The imports of a worker, or an existing list to check, and the interpreter in which to try them."""

    wanted: tuple[str, ...]
    setup: ProbeSetup
    kept: tuple[str, ...] | None = None
    """The modules of an existing list that is to be checked."""
    file: str | None = None
    """The file of that list."""


def preload(request: PreloadRequest, progress: Progress | None = None) -> Preloading:
    """Search for modules to preload, or check an existing list; then prove each module in a fork."""
    if not kernel.supported():
        raise UsageError("coldfork preload needs Linux with /proc, as a zygote does")
    return apart(lambda stop: _Search(request, progress, stop).result())


@dataclass(frozen=True, slots=True)
class _Found:
    """The outcome of one search or check."""

    left: tuple[LeftOut, ...]
    searched: Run
    proof: Run | None
    """The proof of the whole list; None if there was nothing to prove."""


class _Search:
    """One search, or one check of an existing list."""

    def __init__(self, request: PreloadRequest, progress: Progress | None, stop: Callable[[], bool]) -> None:
        self._request = request
        self._setup = request.setup
        self._progress = progress
        self._stop = stop
        self._origins = Origins()
        self._began = monotonic()
        self._loaded = 0

    def result(self) -> Preloading:
        request = self._request
        with ThreadPoolExecutor(max_workers=1) as pool:
            sources = pool.submit(read_sources, request.kept or request.wanted, self._setup, self._stop)
            bare = self._bare(request.wanted or request.kept or ())
            found = self._found() if request.kept is None else self._checked(request.kept)
            return self._report(bare, found, sources.result())

    def _found(self) -> _Found:
        """Search, and repeat it without the modules that make the whole list unclean until it is clean."""
        left: dict[str, LeftOut] = {}
        for _ in range(_MOST_PROOFS):
            searched = self._descend(self._request.wanted, list(left))
            proof = self._prove(searched.accepted, searched)
            bad = proof.unproven(searched)
            if not bad:
                return _Found((*searched.left_out, *left.values()), searched, proof)
            left |= {one.module: one for one in bad.values()}
        raise UsageError(f"no list was clean as a whole in {_MOST_PROOFS} tries")

    def _checked(self, kept: tuple[str, ...]) -> _Found:
        """Check an existing list; return the modules that are no longer clean, with reasons."""
        searched = self._descend(kept, [])
        if searched.left_out:
            return _Found(searched.left_out, searched, None)
        proof = self._prove(kept, searched)
        bad = proof.unproven(searched)
        return _Found(tuple(bad.values()), searched, proof)

    def _descend(self, modules: Sequence[str], taboo: Sequence[str]) -> Run:
        done = self._run("descend", wanted=list(modules), taboo=list(taboo))
        if done.last("complete") is None:
            raise UsageError(_unfinished(done))
        return done

    def _prove(self, modules: Sequence[str], searched: Run) -> Run:
        # Python code is shown changed values of the variables that differ between workers: a module whose
        # content is then different has kept one of them.
        base = while_importing(self._setup.base)
        others = {name: pretended(name, base) for name in searched.own}
        wanted = list(self._request.wanted)
        return self._run("prove", modules=list(modules), wanted=wanted, pretended=others)

    def _bare(self, wanted: Sequence[str]) -> Event:
        done = self._run("bare", wanted=list(wanted))
        bare = done.last("bare")
        if bare is None:
            raise UsageError(_refusal(done, self._setup))
        return bare

    def _run(self, task: str, **more: Any) -> Run:
        self._loaded = 0
        seconds = self._setup.timeout * (1 if task == "bare" else _PATIENCE)
        return runs.run(
            task, self._setup, seconds, partial(self._hear, task), self._stop, self._origins, **more
        )

    def _hear(self, task: str, event: Event) -> None:
        if self._progress is None:
            return
        if event["event"] == "progress":
            self._loaded = int(event["loaded"])
            self._progress(_SPOKEN[task], self._loaded, 0, str(event["module"]))
        elif event["event"] == "importing":
            self._loaded += 1
            self._progress(_SPOKEN[task], self._loaded, 0, str(event["module"]))

    def _report(self, bare: Event, found: _Found, read: Sources) -> Preloading:
        request, proof = self._request, found.proof
        seconds = found.searched.seconds
        left = [replace(one, seconds=seconds.get(one.module, 0.0)) for one in dict.fromkeys(found.left)]
        there = frozenset[str]() if proof is None else proof.present
        shown = found.searched if proof is None else proof
        return Preloading(
            wanted=request.wanted,
            device=device_before(self._setup.virtual),
            python=self._setup.python,
            kept=() if proof is None else proof.kept,
            left_out=tuple(sorted(left, key=lambda one: -one.seconds)),
            reads=shown.reads,
            writes=shown.writes,
            seeds=() if proof is None else proof.seeds(found.searched),
            doubts=tuple(
                replace(doubt, path=self._origins.path(doubt.path, doubt.module))
                for doubt in read.doubts
                if doubt.module in there
            ),
            unread=read.unread,
            total=float(bare["seconds"]),
            rest=None if proof is None else proof.rest,
            trouble=None if proof is None else proof.trouble,
            loaded=int(bare["modules"]),
            file=request.file,
            seconds=monotonic() - self._began,
            files=self._origins.files,
        )


def _refusal(done: Run, setup: ProbeSetup) -> str:
    """Return a message that says why a worker could not import the modules that it needs."""
    raised = done.last("raised")
    if raised is not None:
        error = raised["error"]
        said = f"{error['type']}: {error['message']}"
        return f"importing {raised['module']} with {setup.python} raises {said}"
    if done.ended.timed_out:
        return f"the imports did not end within {setup.timeout:g} s; give them more with --timeout"
    return f"the imports ended the process with {_end(done)}"


def _unfinished(done: Run) -> str:
    trouble = done.last("trouble")
    if trouble is not None:
        return f"the search failed: {trouble['text']}"
    if done.ended.timed_out:
        return "the search did not end in time; give it more with --timeout"
    accepted = done.accepted
    return f"the search ended with {_end(done, f', after {accepted[-1]}' if accepted else '')}"


def _end(done: Run, after: str = "") -> str:
    """Return a phrase about how a process ended, with the last line of its output."""
    lines = done.ended.output.strip().splitlines()
    said = f": {lines[-1]}" if lines else ""
    return f"{done.ended.signal or f'status {done.ended.status}'}{after}{said}"
