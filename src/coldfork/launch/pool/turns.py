"""What the thread of a pool does, wherever the workers are: turn after turn, until all is over."""

from __future__ import annotations

from logging import getLogger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.launch.pool.dispatcher import Dispatcher

_LOG = getLogger("coldfork")


def take_turns(dispatcher: Dispatcher, turn: Callable[[], object], end: Callable[[], object]) -> None:
    """Take turns while anything is left to be done; no task waits for ever where one of them fails."""
    try:
        while not dispatcher.is_over:
            turn()
    except BaseException as error:
        _LOG.exception("the pool's thread has failed")
        dispatcher.give_up(f"its thread has failed: {error!r}")
        dispatcher.lose_all()
    finally:
        end()
