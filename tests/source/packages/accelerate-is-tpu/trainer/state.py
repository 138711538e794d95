"""What all processes share."""

import threading

from .machine import has_array_processor

if has_array_processor(ask_device=False):  # expect: driver-init-at-import
    import array_processor.core as core

with_arrays = has_array_processor(ask_device=False)  # expect: driver-init-at-import
Shared = threading.local if with_arrays else dict


def cores():
    """How many cores take part."""
    return core.count() if has_array_processor() else 1
