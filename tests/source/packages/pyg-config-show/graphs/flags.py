"""Facts about the build of torch."""

import os

import torch

WINDOWS = os.name == "nt"
PLAIN_MATHS = "USE_MKL=OFF" in torch.__config__.show() or WINDOWS  # expect: driver-init-at-import
