"""One kernel; importing fla asks Triton for its target, which wakes the device."""

from fla.ops.gated_delta_rule import chunk_gated_delta_rule


def delta_rule(query, key, value):
    return chunk_gated_delta_rule(query, key, value)
