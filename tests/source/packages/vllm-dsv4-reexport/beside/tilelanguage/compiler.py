"""The compiler reads the architecture when it is made, and it is made on import."""

import os

from .machine import architecture


class Settings:
    def __init__(self):
        self.verbose = os.environ.get("TILE_VERBOSE") == "1"
        self.architecture = architecture()


class Compiler:
    _shared = None
    settings_class = Settings

    def __init__(self):
        self.settings = self.settings_class()

    @classmethod
    def shared(cls):
        if cls._shared is None:
            cls._shared = cls()
        return cls._shared

    def kernel(self, function):
        return function
