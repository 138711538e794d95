"""Lets the scripts of one event loop begin in turns, so that a burst of them does not starve the loop.

An interpreter that starts takes a processor for itself. Two hundred at once are there no sooner than two
hundred in turns, and everybody is answered late meanwhile. A script has had its turn as soon as its
interpreter is up; what it does then is not waited for.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from coldfork.launch.script.environment import processors

LONGEST_TURN_SECONDS = 2.0
"""Whose interpreter is not up by then waits for something else than a processor."""


class Turns:
    """Who of one event loop may begin."""

    def __init__(self, at_once: int) -> None:
        self._free = asyncio.Semaphore(at_once)

    async def mine(self) -> Turn:
        """Wait for a turn, first come, first served."""
        await self._free.acquire()
        return Turn(self._free)


class Turn:
    """A turn that is somebody's, until it is over: with the end of the block at the latest."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free: asyncio.Semaphore | None = free
        self._timer = asyncio.get_running_loop().call_later(LONGEST_TURN_SECONDS, self.over)

    def __enter__(self) -> Turn:
        return self

    def __exit__(self, *_: object) -> None:
        self.over()

    def over(self) -> None:
        """Let the next one begin; that of a turn that is over already changes nothing."""
        free, self._free = self._free, None
        if free is not None:
            self._timer.cancel()
            free.release()


class TurnsByLoop:
    """The turns of each event loop: what one waits for cannot be released by another."""

    def __init__(self) -> None:
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()

    def here(self) -> Turns:
        """Those of the running loop."""
        loop = asyncio.get_running_loop()
        turns = self._turns.get(loop)
        if turns is None:
            turns = self._turns[loop] = Turns(_at_once())
        return turns


def _at_once() -> int:
    """As many as there are processors for us, and never one alone: it may be waiting for a disk."""
    return max(2, processors())
