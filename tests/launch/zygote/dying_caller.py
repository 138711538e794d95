"""A caller that is killed: it prints the pids of all that came of it, and waits.

Run as a program: `python dying_caller.py main|thread` says on which thread the server is started.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import coldfork
from coldfork.launch.server.zygote.handle import Zygote

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.launch.zygote import targets


def main(thread: str) -> None:
    made: list[Zygote] = []

    def begin() -> None:
        made.append(coldfork.zygote(["http.client"]).wait(60))

    if thread == "main":
        begin()
    else:
        # A thread that has ended when the workers run.
        starter = threading.Thread(target=begin)
        starter.start()
        starter.join()
    context = made[0].context
    answers = context.Queue()
    idle = context.Process(target=targets.wait_for_ever)
    idle.start()
    busy = context.Process(target=targets.start_and_wait, args=(answers,))
    busy.start()
    below = answers.get(timeout=60)
    print(json.dumps({"server": made[0].pid, "workers": [idle.pid, *below]}), flush=True)
    time.sleep(1000)


if __name__ == "__main__":
    main(sys.argv[1])
