"""Two engine processes that share the keys and values of what they have read through CPU memory."""

from __future__ import annotations

import sys
from pathlib import Path

# The decoder is the one of the example beside this one.
_BESIDE = str(Path(__file__).resolve().parents[2] / "speculative_decoding")
if _BESIDE not in sys.path:
    sys.path.append(_BESIDE)
