"""How a value is pickled: by reference to what the other process can import, and by value otherwise."""

from __future__ import annotations

import io
import pickle

from coldfork.launch.pool.transport.reducers import reducers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Apart = Callable[[pickle.PickleBuffer], object]
    Dumps = Callable[[object, Apart | None], bytes]


class _ByReference(pickle.Pickler):
    def __init__(self, file: io.BytesIO, apart: Apart | None) -> None:
        super().__init__(file, 5, buffer_callback=apart)
        self.dispatch_table = reducers()


def by_reference(value: object, apart: Apart | None = None) -> bytes:
    """For a process that can import this program's main module."""
    file = io.BytesIO()
    try:
        _ByReference(file, apart).dump(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        from coldfork.launch.pool.transport.by_value import dumps

        return dumps(value, apart, main_by_value=False)
    return file.getvalue()


def by_value(value: object, apart: Apart | None = None) -> bytes:
    """For a process that cannot import the main module: it is a notebook, or came from a command line."""
    from coldfork.launch.pool.transport.by_value import dumps

    return dumps(value, apart, main_by_value=True)
