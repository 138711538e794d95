"""Answers one question from standard input: `python -m coldfork.source.bodies`."""

from __future__ import annotations

import json
import sys

from coldfork.source.bodies.following import NotFound, read_body, read_library
from coldfork.source.bodies.question import Question

_RECURSION = 20_000


def main() -> None:
    """Read a question, and write the certain effects of the function, or why it cannot be followed."""
    sys.setrecursionlimit(_RECURSION)
    try:
        asked = json.load(sys.stdin)
        found = read_library(**asked) if "library" in asked else read_body(Question.read(asked))
    except (NotFound, OSError, SyntaxError) as problem:
        json.dump({"unknown": str(problem)}, sys.stdout)
        return
    touches = [
        {"accelerator": one.accelerator, "call": one.call, "steps": one.steps} for one in found.touches
    ]
    json.dump({"touches": touches, "files": found.files}, sys.stdout)


if __name__ == "__main__":
    main()
