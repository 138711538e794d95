"""The known results of changes: a line of JSON each, so that an interrupted run can continue."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from mutants.operators import Mutant
from mutants.trials import Outcome, Verdict


class Results:
    """A file of verdicts; it holds for one state of the code and the tests."""

    def __init__(self, folder: Path, state: Mapping[str, str], budget: float) -> None:
        digest = hashlib.sha256(json.dumps([sorted(state.items()), budget]).encode()).hexdigest()[:24]
        self._file = folder / f"results-{digest}.jsonl"

    def known(self, mutants: Iterable[Mutant]) -> dict[Mutant, Verdict]:
        """The verdicts on some changes."""
        wanted = set(mutants)
        found: dict[Mutant, Verdict] = {}
        if self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                fields = json.loads(line)
                mutant = Mutant(**fields.pop("mutant"))
                if mutant in wanted:
                    outcome = Outcome(fields.pop("outcome"))
                    found[mutant] = Verdict(mutant, outcome, **fields)
        return found

    def add(self, verdict: Verdict) -> None:
        """Remember a verdict."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(verdict)) + "\n")
