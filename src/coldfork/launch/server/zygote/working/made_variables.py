"""The variables that preloaded modules set while they were imported, as a worker's own import would have."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Made:
    """What the imports have set or removed, and what they found before."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        names = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
        self.variables = {name: after.get(name) for name in sorted(names)}
        """What they have set, and None for what they have removed."""
        self._found = {name: before.get(name) for name in names}

    def apply(self) -> None:
        """Do the same here, in the caller's environment, but where that is another than the imports found."""
        for name, value in self.variables.items():
            if os.environ.get(name) != self._found[name]:
                continue
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
