"""Model definitions."""

from serving.machine import device_level

_level = device_level()  # expect: device-init-at-import


class Layer:
    """A layer that has a fast way on newer devices."""

    def forward(self, rows):
        """Run the layer."""
        return rows[::2] if _level >= 90 else rows
