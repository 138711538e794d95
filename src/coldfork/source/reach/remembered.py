"""The results of earlier runs, which are read before the analysis and written after it.

There are three packs, on disk or held by a session: summaries of files, results of modules, and whole
answers. A result is valid while the modules consulted for it are unchanged. An answer is valid while all
results that it is based on are valid, which its token records.

Recalling an answer is all that most runs do, so what knows results is imported where results are handled.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from coldfork.source.files.reading import Stamp
from coldfork.source.reach.answers import Answer, decode_answer, encode_answer

if TYPE_CHECKING:
    from coldfork.source.program.keeping import Store
    from coldfork.source.program.loader import Loader
    from coldfork.source.program.program import Program
    from coldfork.source.reach.results import Outcome, Results

#: The number of answers kept for the same sources, one for each set of entries; the oldest are dropped.
_MOST_ANSWERS = 16

#: The location of a module, with the stamp and hash that show whether its file is unchanged; None if it is
#: missing.
Place = tuple[str, Stamp | None, bytes] | None


class Packs(NamedTuple):
    """The cache files of a run, and the conditions under which their contents are valid."""

    summaries: Path
    results: Path
    answers: Path
    whole: Path
    environment: str
    """Identifies the environment in which the results were found."""
    question: str
    """Identifies the request that the answer belongs to."""
    kin: str
    """The prefix of the names of other packs whose results are also valid here, unless a module changed."""


class Remembered:
    """The cached results that one run reads and writes."""

    def __init__(self, store: Store, packs: Packs | None, program: Program, loader: Loader) -> None:
        self._store = store
        self._packs = packs
        self._program = program
        self._loader = loader
        self.results: dict[str, Outcome] = {}
        """The results that are still valid."""
        self._places: dict[str, Place] = {}
        self._token: str | None = None
        """Identifies the results while all of them are valid; None as soon as one has changed."""
        self._answers: dict[str, Any] = {}

    # -- before the work ----------------------------------------------------------------------------

    def recall(self) -> Answer | None:
        """Return the cached answer if nothing has changed; otherwise load the results that are still
        valid.
        """
        packs = self._packs
        if packs is None:
            return None
        loaded = self._store.load(packs.results, packs.kin)
        if loaded.get("key") != packs.environment:
            self._recall_summaries(packs)
            return None
        names: list[str] = loaded["names"]
        changed = self._changed(names, loaded["places"])
        if not changed:
            self._token = loaded["token"]
            self._program.derived = loaded["derived"]
            self._answers = self._recall_answers(packs)
            answer = self._answers.get(packs.question)
            if answer is not None:
                return answer if isinstance(answer, Answer) else decode_answer(answer)
        self._recall_summaries(packs)
        self._recall_results(loaded, changed)
        return None

    def _recall_summaries(self, packs: Packs) -> None:
        if not self._loader.stored:  # another machine's analysis may have loaded them
            self._loader.stored = self._store.load(packs.summaries)

    def _recall_results(self, loaded: dict[str, Any], changed: int) -> None:
        """Take over the results that do not depend on a changed module."""
        from coldfork.source.reach.encoding import Translation
        from coldfork.source.reach.results import Outcome

        names: list[str] = loaded["names"]
        if changed:
            changed |= self._hierarchy_changed(names, loaded["derived"], changed)
        translate = Translation(names, self._program)
        for name, (raw, broken, depends) in loaded["results"].items():
            if not changed & depends:
                self.results[name] = Outcome(raw, broken, translate(depends))

    def _recall_answers(self, packs: Packs) -> dict[str, Any]:
        """Return the cached answers that are based on the loaded results."""
        loaded = self._store.load(packs.answers)
        answers: dict[str, Any] = loaded["answers"] if loaded.get("token") == self._token else {}
        return answers

    def _changed(self, names: list[str], places: list[Place]) -> int:
        """Return the modules that have moved or changed, as one bit each."""
        changed = 0
        for index, (name, place) in enumerate(zip(names, places, strict=True)):
            now = self._place(name, place)
            self._places[name] = now
            if index and (now and (now[0], now[2])) != (place and (place[0], place[2])):
                changed |= 1 << index
        return changed

    def _hierarchy_changed(self, names: list[str], before: dict[str, tuple[str, ...]], changed: int) -> int:
        """Return 1 if changed modules, or modules that they now import, alter the class hierarchy; else 0."""
        from coldfork.source.reach.results import has_source, read_ahead, record_bases

        program = self._program
        touched = [name for index, name in enumerate(names) if changed >> index & 1]
        level = [name for name in touched if has_source(program, name)]
        read_ahead(program, self._loader, level, None, before)
        record_bases(program)
        derived = program.derived
        altered = any(derived.get(name, ()) != before.get(name, ()) for name in {*touched, *derived})
        # Classes of modules that are no longer imported stay, because they can only add possible paths.
        program.derived = {name: at for name, at in before.items() if name not in touched} | derived
        return int(altered)

    def _place(self, name: str, before: Place) -> Place:
        located = self._program.finder.find(name)
        if located is None:
            return None
        if located.path is None:
            return (f"{located.compiled}", None, b"")
        read = self._loader.seen(located.path)
        if read is not None:
            return located.path, *read
        now = self._loader.reader.stamp(located.path)
        if (
            before is not None
            and before[0] == located.path
            and before[1] is not None
            and tuple(before[1]) == now
        ):
            return before
        return located.path, now, self._loader.reader.content_hash(located.path)

    # -- after the work -----------------------------------------------------------------------------

    def keep(self, results: Results, answer: Answer) -> None:
        """Store the results, with the locations of the modules they depend on, and the answer."""
        packs = self._packs
        if packs is None:
            return
        if self._token is None or results.evaluated:
            self._token = os.urandom(8).hex()
            self._answers = {}
            self._keep_results(packs, results)
        others = [(key, kept) for key, kept in self._answers.items() if key != packs.question]
        answers = dict([*others[1 - _MOST_ANSWERS :], (packs.question, answer)])
        self._store.save(packs.answers, {"token": self._token, "answers": answers}, _plain_answers)
        if self._loader.changed:
            self._store.save(packs.summaries, self._loader.stored)
            self._loader.changed = False

    def _keep_results(self, packs: Packs, results: Results) -> None:
        names = list(self._program.bits)
        data = {
            "key": packs.environment,
            "token": self._token,
            "names": names,
            "places": [self._places.get(name) or self._place(name, None) for name in names],
            "results": {name: results.known[name] for name in (*results.by_name, *results.programs)},
            "derived": self._program.derived,
        }
        self._store.save(packs.results, data, _plain_results, packs.kin)


def _plain_results(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"results": {name: _plain(outcome) for name, outcome in data["results"].items()}}


def _plain(outcome: Outcome) -> Any:
    from coldfork.source.reach.encoding import encode

    result = outcome.result
    return result if isinstance(result, bytes) else encode(result), outcome.broken, outcome.depends


def _plain_answers(data: dict[str, Any]) -> dict[str, Any]:
    plain = {
        question: encode_answer(answer) if isinstance(answer, Answer) else answer
        for question, answer in data["answers"].items()
    }
    return data | {"answers": plain}
