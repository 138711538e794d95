"""How a process that has told everything waits for its end."""

from __future__ import annotations

from _signal import pause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def wait_for_the_end() -> NoReturn:
    """Wait to be killed: as long as this process is there, what it has started can be found below it."""
    while True:
        pause()
