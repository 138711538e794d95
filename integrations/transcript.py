"""The page of an integration: what it did and saw, and whether it saw what it had to see."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from integrations.environment import Ended
from published.errors import UnavailableError

UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
"""What the site's search finds first should be the pages that say what to do."""
ENDED = "[no process has worked any more: the watchdog asked each where it stands, and ended them]"


class Transcript:
    """The page of an integration while it is being written, and the promises it did not keep."""

    def __init__(self, title: str, introduction: str) -> None:
        self._parts = [f"# {title}", introduction.strip()]
        self.broken: list[str] = []

    def step(self, sentence: str, ended: Ended, *needed: str, status: int | None = 0) -> None:
        """Add what a program printed; every pattern must be found in it, and it must end with this status.

        None is the status of a program that stood still until the watchdog ended it.
        """
        # The page comes at the end, and the runs may take minutes.
        print(f"done: {sentence}", file=sys.stderr, flush=True)
        shown = ended.output.strip() if ended.status is not None else f"{ended.output.strip()}\n{ENDED}"
        self._parts += [sentence, f"```text\n{shown}\n```"]
        if ended.status != status:
            self.broken.append(f"{sentence} It ended with {ended.status} and not with {status}.")
        self.broken += [
            f"{sentence} Not found: {pattern}"
            for pattern in needed
            if not re.search(pattern, ended.output, re.MULTILINE)
        ]

    def promise(self, sentence: str, kept: bool) -> None:
        """Something that must hold between the steps."""
        self._parts.append(sentence)
        if not kept:
            self.broken.append(sentence)

    def text(self) -> str:
        """The page."""
        return UNSEARCHED + "\n\n".join(self._parts) + "\n"


def main(name: str, work: Callable[[], Transcript], arguments: Sequence[str] | None = None) -> int:
    """Run an integration from the command line: 1 when a promise is broken, 2 when it cannot be run here."""
    parser = argparse.ArgumentParser(prog=f"./dev integration {name}")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the transcript there")
    options = parser.parse_args(arguments)
    try:
        transcript = work()
    except UnavailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(transcript.text().removeprefix(UNSEARCHED))
    for sentence in transcript.broken:
        print(f"FAIL {sentence}", file=sys.stderr)
    if options.write and not transcript.broken:
        options.write.write_text(transcript.text(), encoding="utf-8")
    return 1 if transcript.broken else 0
