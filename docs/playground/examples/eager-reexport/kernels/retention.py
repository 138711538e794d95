"""Another one."""

from fla.ops.retention import chunk_retention


def retention(query, key, value):
    return chunk_retention(query, key, value)
