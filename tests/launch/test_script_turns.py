"""Scripts of one event loop begin in turns: few at a time, each soon, and nobody is forgotten."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from coldfork import arun_script
from coldfork.launch.script import async_call as script_turns
from coldfork.launch.script.async_call import Turn, Turns, TurnsByLoop
from tests.launch.scripting import Bench


def test_so_many_have_their_turn_at_once() -> None:
    async def main() -> tuple[int, list[int]]:
        turns, having, most, order = Turns(3), 0, 0, []

        async def one(number: int) -> None:
            nonlocal having, most
            turn = await turns.mine()
            order.append(number)
            having += 1
            most = max(most, having)
            await asyncio.sleep(0)
            having -= 1
            turn.over()

        await asyncio.gather(*map(one, range(20)))
        return most, order

    assert asyncio.run(main()) == (3, list(range(20)))


def test_a_turn_is_over_once() -> None:
    async def main() -> bool:
        turns = Turns(1)
        first = await turns.mine()
        first.over()
        first.over()
        await turns.mine()
        waiting = asyncio.ensure_future(turns.mine())
        await asyncio.sleep(0.01)
        done = waiting.done()
        waiting.cancel()
        return done

    assert asyncio.run(main()) is False


def test_who_never_comes_up_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_turns, "LONGEST_TURN_SECONDS", 0.01)

    async def main() -> Turn:
        turns = Turns(1)
        await turns.mine()
        return await asyncio.wait_for(turns.mine(), 60)

    assert isinstance(asyncio.run(main()), Turn)


def test_each_loop_has_its_own() -> None:
    turns = TurnsByLoop()

    async def here() -> tuple[Turns, Turns]:
        return turns.here(), turns.here()

    one, two = asyncio.run(here()), asyncio.run(here())
    assert one[0] is one[1]
    assert one[0] is not two[0]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux")
def test_who_is_cancelled_while_it_waits_for_its_turn_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    monkeypatch.setattr(script_turns, "_at_once", lambda: 1)
    script = bench.write("print('here')")

    async def main() -> str:
        first = asyncio.ensure_future(arun_script(script, log_dir=bench.runs))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(arun_script(script, log_dir=bench.folder / "other"))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        last = await arun_script(script, log_dir=bench.runs)
        return (await first).stdout + last.stdout

    assert asyncio.run(main()) == "here\nhere\n"
    assert not (bench.folder / "other").exists()
