"""How large the model is, and so the keys and values of a block; to be known without torch."""

from __future__ import annotations

from sharing.blocks import TOKENS

WIDTH, HEADS, LAYERS = 64, 2, 2
NUMBER_BYTES = 8
"""Double precision."""
BLOCK_BYTES = 2 * LAYERS * TOKENS * WIDTH * NUMBER_BYTES
"""The keys of all layers, and then the values."""
