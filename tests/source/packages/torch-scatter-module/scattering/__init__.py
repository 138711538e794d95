"""Chooses its library when it is imported."""

import torch

suffix = "cuda" if torch.cuda.is_available() else "cpu"  # expect: driver-init-at-import
LIBRARIES = [(name, suffix) for name in ("_scatter", "_segment")]

if torch.cuda.is_available():  # expect: driver-init-at-import
    built_for = torch.version.cuda
else:
    built_for = None
