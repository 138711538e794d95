"""Scales a vector."""

import tuner


@tuner.tune(sizes=(128, 256), key="length")  # expect: device-init-at-import
def scale(source, target, length):
    """Double every element."""
    for index in range(length):
        target[index] = 2 * source[index]
