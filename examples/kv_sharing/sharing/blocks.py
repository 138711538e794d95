"""Names for blocks of tokens: equal if, and only if, model, block and all that stands before it are equal."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b

TOKENS = 16
"""So many tokens are a block."""
KEY_BYTES = 32


def keys(model: bytes, tokens: Sequence[int]) -> Iterator[bytes]:
    """The key of each full block: a hash of the tokens in it and of the key before it.

    Not Python's own `hash`, which is another one in every process that was not forked from the same.
    """
    key = blake2b(model, digest_size=KEY_BYTES).digest()
    for start in range(0, len(tokens) - TOKENS + 1, TOKENS):
        block = array("q", tokens[start : start + TOKENS]).tobytes()
        key = blake2b(key + block, digest_size=KEY_BYTES).digest()
        yield key
