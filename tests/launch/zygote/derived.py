"""A class derived from the one of a context: imported when there is a context, in caller and worker."""

from __future__ import annotations

import os

import coldfork
from coldfork.launch.server.zygote.processes import ZygoteContext

_CONTEXT = coldfork.get_context("zygote")
assert isinstance(_CONTEXT, ZygoteContext)


class Derived(_CONTEXT.Process):  # type: ignore[name-defined, misc]
    """Ends with a status of its own."""

    def run(self) -> None:
        os._exit(4)
