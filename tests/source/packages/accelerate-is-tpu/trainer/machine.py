"""Questions about the machine."""

import importlib.util
from functools import lru_cache

import torch

_array_library = importlib.util.find_spec("array_processor") is not None


@lru_cache
def has_array_processor(ask_device=True):
    """Whether an array processor is here; machines with a graphics card are not asked."""
    if torch.cuda.is_available():
        return False
    if _array_library and ask_device:
        return importlib.import_module("array_processor").count() > 0
    return _array_library
