"""Notes which environment variables are read and set while modules are imported, and by which lines."""

from __future__ import annotations

import os

from coldfork.launch.preload.trying.remains.sites import site
from coldfork.launch.server.variables import is_workers_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from coldfork.launch.preload.trying.remains.sites import Site

    Use = tuple[str | None, Site]


class Variables:
    """What has been read and set since the last `forget`, each by the first and the last who did so.

    What C code asks for by itself does not show. Who copies the whole environment has read nothing of it.
    """

    def __init__(self, module: Callable[[], str | None]) -> None:
        self._module = module
        self._copied: str | None = None
        self._to_copy: list[str] = []
        """What has just been listed, last first: who copies all asks for each of them in this order."""
        self.reads: dict[str, Use] = {}
        self.writes: dict[str, tuple[str | None, Use]] = {}

    def forget(self) -> None:
        """Begin anew."""
        self.reads, self.writes = {}, {}

    def of_workers(self) -> dict[str, Use]:
        """Those of the variables read that each worker has its own of."""
        return {name: use for name, use in self.reads.items() if is_workers_own(name, use[0])}

    def listen(self) -> None:
        """Hear of every use of `os.environ` from here on."""
        kind: Any = type(os.environ)
        get, put, drop, names = kind.__getitem__, kind.__setitem__, kind.__delitem__, kind.__iter__

        def get_noting(environment: Any, name: Any) -> Any:
            if environment is os.environ and not self._is_copied(name) and name not in self.reads:
                self.reads[name] = (self._module(), site())
            return get(environment, name)

        def set_noting(environment: Any, name: Any, value: Any) -> None:
            put(environment, name, value)
            if environment is os.environ:
                self.writes[name] = (value, (self._module(), site()))

        def remove_noting(environment: Any, name: Any) -> None:
            drop(environment, name)
            if environment is os.environ:
                self.writes[name] = (None, (self._module(), site()))

        def list_noting(environment: Any) -> Iterator[Any]:
            listed = list(names(environment))
            for name in listed:
                self._copied = name
                yield name
            self._copied, self._to_copy = None, listed[::-1]

        kind.__getitem__, kind.__setitem__ = get_noting, set_noting
        kind.__delitem__, kind.__iter__ = remove_noting, list_noting

    def _is_copied(self, name: Any) -> bool:
        if name == self._copied:
            return True
        if self._to_copy and self._to_copy[-1] == name:
            self._to_copy.pop()
            return True
        self._to_copy = []
        return False


def pretend(values: dict[str, str | None]) -> None:
    """Have Python code read other values than there are; what C code reads stays as it is."""
    environment: Any = os.environ
    for name, value in values.items():
        if value is None:
            environment._data.pop(os.fsencode(name), None)
        else:
            environment._data[os.fsencode(name)] = os.fsencode(value)
