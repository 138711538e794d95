"""How much of what could be tried a test tries: a fixed sample, unless a long run asks for more."""

from __future__ import annotations

import os
import sys

EXAMPLES = "COLDFORK_TEST_EXAMPLES"
"""The variable by which a long run asks, with how many examples each generated test draws."""
LONG = EXAMPLES in os.environ


def examples(usual: int) -> int:
    """How many a test draws; under Node, where each takes ten times as long, a tenth of the usual ones."""
    if LONG:
        return int(os.environ[EXAMPLES])
    return max(usual // 10, 1) if sys.platform == "emscripten" else usual


def step(usual: int) -> int:
    """How far one case that is tried lies from the next."""
    return 1 if LONG else usual
