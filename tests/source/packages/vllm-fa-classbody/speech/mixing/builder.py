"""Builds what the mixer wants to know of a batch."""

from speech.mixing.choice import mixer_generation

ALWAYS, UNIFORM = "always", "uniform"


class MixBuilder:
    """Collects lengths."""

    name = "mix"
    recording = ALWAYS if mixer_generation() == 2 else UNIFORM  # expect: device-init-at-import

    def __init__(self, lengths):
        self.lengths = lengths
