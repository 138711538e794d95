"""Saves a run."""

from trainer import machine

ON_ARRAYS = machine.has_array_processor(False)  # expect: driver-init-at-import


def save(run, path):
    """Write a run to a file."""
    path.write_text(repr((run, ON_ARRAYS)))
