"""Fetches the Python files of published packages: `./dev bench sources NAME==VERSION[:wheel|:sdist]...`"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import cast

from published import places
from published.errors import UnavailableError
from published.index import Index, configured
from published.sources import Wanted, fetch, present


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch what the command line names; 1 when something could not be had."""
    parser = argparse.ArgumentParser(prog="./dev bench sources", description=__doc__)
    parser.add_argument("wanted", nargs="+", metavar="NAME==VERSION[:wheel|:sdist]")
    options = parser.parse_args(arguments)
    folder = places.sources()
    missing = 0
    index = None
    for text in options.wanted:
        try:
            wanted = Wanted.parse(text)
            here = present(wanted, folder)
            index = index or (configured() if here is None else None)
            place = here or fetch(wanted, folder, cast(Index, index), _say)
        except UnavailableError as error:
            print(f"error: {error}", file=sys.stderr)
            missing += 1
            continue
        _say("")
        print(place)
    return 1 if missing else 0


def _say(line: str) -> None:
    """Show progress: in place on a terminal, otherwise nothing but what begins."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
