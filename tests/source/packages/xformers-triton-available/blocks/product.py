"""Products in tiles."""

from . import fast_kernels

if fast_kernels():  # expect: device-init-at-import
    TILE = 128
else:
    TILE = 32


def product(left, right):
    """Multiply tile by tile."""
    return [left[start : start + TILE] @ right for start in range(0, len(left), TILE)]
