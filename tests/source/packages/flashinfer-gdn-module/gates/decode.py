"""One step of decoding."""

import torch

UNITS = torch.cuda.get_device_properties(0).multi_processor_count  # expect: device-init-at-import
GENERATION = torch.cuda.get_device_capability(0)  # expect: device-init-at-import


def decode(state, gate):
    """Advance the state by one token."""
    blocks = min(UNITS, state.shape[0])
    return state * gate.chunk(blocks)[0] if GENERATION >= (10, 0) else state * gate
