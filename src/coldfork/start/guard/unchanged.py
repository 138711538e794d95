"""Whether anything that an examination looks at has changed since the last one, which found nothing.

After a fork the kernel copies every page of the parent at its next use, and an examination uses more than a
hundred of them, at up to two microseconds each. This uses few. It says less than an examination: that
nothing came or went, so that what was found still holds. It is believed only where nothing was found.
"""

from __future__ import annotations

import os
import sys
from _thread import _count as python_threads
from _thread import get_ident
from typing import TYPE_CHECKING

from coldfork.observe.probes import hip, opencl, tokenizers

if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.observe.states import Poller
    from coldfork.start.process.snapshot import Snapshot

    Key = tuple[object, ...]

_TASKS = "/proc/self/task"
_NUMBA = "numba.np.ufunc.parallel"


class Unchanged:
    """What the last examination saw from outside."""

    def __init__(self, poller: Poller, snapshot: Snapshot) -> None:
        self._poller = poller
        self._snapshot = snapshot
        self._fingerprint: Callable[[], int | None] = snapshot.examination.loader().fingerprint
        # `os.environ.get` goes through five functions to this dictionary.
        self._variables: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]
        self._names = (os.fsencode(tokenizers.VARIABLE), os.fsencode(opencl.DEVICES_VARIABLE))
        self._known: Key | None = None

    def key(self) -> Key:
        """Everything that decides what an examination finds: who is awake, libraries, threads, settings."""
        numba = sys.modules.get(_NUMBA)
        variables = self._variables.get
        return (
            self._poller.awake(),
            self._fingerprint(),
            os.listdir(_TASKS),
            python_threads(),
            get_ident(),
            None if numba is None else object.__getattribute__(numba, "__dict__").get("_threading_layer"),
            *map(variables, self._names),
        )

    def still(self) -> bool:
        """True while nothing has changed since an examination that found nothing."""
        return self._known is not None and self._known == self.key()

    def note(self, key: Key | None) -> None:
        """An examination that began with this key has found nothing; None for one that found something."""
        self._known = key if key is not None and self._tells_all(key) else None

    def _tells_all(self, key: Key) -> bool:
        """Whether a change of state would change the key.

        ROCm shows in open files alone, a thread that could not be traced may be traced later, and where the
        loader's counters cannot be read a new library would not be noticed.
        """
        return (
            key[1] is not None
            and not self._poller.failures
            and self._snapshot.settled
            and self._snapshot.library(*hip.PREFIXES) is None
        )
