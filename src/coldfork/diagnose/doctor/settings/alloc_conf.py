"""Whether PyTorch knows every option of its allocator in PYTORCH_ALLOC_CONF and its names for CUDA and HIP.

PyTorch reads them at its first allocation. Newer releases raise `Unrecognized key` there; older ones warn, or
silently ignore the option.

- **ok**: none is set, or all options are known.
- **warn**: an option is not among those of PyTorch up to 2.13, or has no value.

It never fails, and is never skipped.
"""

from __future__ import annotations

import difflib
import re

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, warn

_NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
#: The options in `c10/core/AllocatorConfig.cpp` and `c10/cuda/CUDAAllocatorConfig.h`, torch 2.0 to 2.13.
_OPTIONS = frozenset(
    {
        "backend",
        "expandable_segments",
        "garbage_collection_threshold",
        "graph_capture_record_stream_reuse",
        "large_segment_size_mb",
        "max_non_split_rounding_mb",
        "max_split_size_mb",
        "per_process_memory_fraction",
        "pinned_max_cached_size_mb",
        "pinned_max_round_threshold_mb",
        "pinned_num_register_threads",
        "pinned_reserve_segment_size_mb",
        "pinned_use_background_threads",
        "pinned_use_cuda_host_register",
        "pinned_use_hip_host_register",
        "release_lock_on_cudamalloc",
        "release_lock_on_hipmalloc",
        "roundup_power2_divisions",
        "throw_on_cudamalloc_oom",
    }
)


def examine(facts: Facts) -> Answer:
    """Judge each option in the allocator's variables."""
    given = [(name, facts.variables[name]) for name in _NAMES if facts.variables.get(name)]
    if not given:
        return ok("no option of PyTorch's allocator is set")
    wrong = [said for name, value in given for said in _wrong(name, value)]
    if not wrong:
        return ok(f"{', '.join(name for name, _ in given)}: every option is known")
    return warn("; ".join(wrong), "write OPTION:VALUE,OPTION:VALUE; PyTorch's notes on CUDA list the options")


def _wrong(name: str, value: str) -> list[str]:
    # The value of an option may be a list in brackets that contains commas and colons itself.
    options = re.sub(r"\[[^\]]*\]", "list", value).split(",")
    found = []
    for option in filter(None, (part.strip() for part in options)):
        key, colon, _ = option.partition(":")
        if key.strip() not in _OPTIONS:
            close = difflib.get_close_matches(key.strip(), sorted(_OPTIONS), 1)
            meant = f"; did you mean {close[0]}?" if close else ""
            found.append(f"{name}: PyTorch has no option {key.strip()}{meant}")
        elif not colon:
            found.append(f"{name}: {key.strip()} has no value")
    return found
