"""What a worker has answered, on its way to the caller who waits for it."""

from __future__ import annotations

from coldfork.launch.pool.errors import RemoteError
from coldfork.launch.pool.transport import wire
from coldfork.launch.pool.transport.payloads import unpack
from coldfork.launch.pool.transport.raised import arrived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.launch.pool.dispatcher import Dispatcher
    from coldfork.launch.pool.tasks import Task


def settle(dispatcher: Dispatcher, task: Task, kind: int, data: bytes, memory: int) -> None:
    """Tell a task's caller what its worker has answered."""
    try:
        if memory == wire.LOST:
            raise wire.LostDescriptorError
        value = unpack(data, memory) if kind == wire.RETURNED else arrived(data, memory)
    except BaseException as error:
        unreadable = RemoteError(
            f"the task's result cannot be read in this process: {type(error).__name__}: {error}"
        )
        unreadable.__cause__ = error
        dispatcher.settle(task, error=unreadable)
    else:
        if kind == wire.RETURNED:
            dispatcher.settle(task, value)
        else:
            dispatcher.settle(task, error=value)
