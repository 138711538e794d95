"""How a process would be started at each stage of the driver, and what starting it so and by a fork gives.

Argument: the driver library. The guard watches and lets everything pass, so that children know their parent.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

import coldfork


def decided() -> dict[str, Any]:
    """The state of CUDA in this process, and the decision."""
    decision = coldfork.decide()
    state = next(one for one in decision.evidence if one.accelerator == "cuda")
    return {
        "state": [state.status, state.level],
        "method": decision.method,
        "against fork": [reason.code for reason in decision.against("fork")],
    }


def initialise(library: str) -> int:
    """Return the code of `cuInit` in this process."""
    return int(ctypes.CDLL(library).cuInit(0))


def work(library: str) -> None:
    """Use the device in a process that coldfork starts; its exit status is the answer."""
    sys.exit(initialise(library))


def forked(library: str) -> dict[str, Any]:
    """Return what a plainly forked child knows of its state, and what the driver then answers."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        told = {"decided": decided(), "cuInit": initialise(library)}
        os.write(write, json.dumps(told).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    return dict(json.loads(answer))


def stage(library: str) -> dict[str, Any]:
    """Everything that is asked of one stage."""
    process = coldfork.get_context().Process(target=work, args=(library,))
    process.start()
    process.join(60)
    return {**decided(), "cuInit in ours": process.exitcode, "plain fork": forked(library)}


def main(library: str) -> None:
    """Go from stage to stage and print the answers."""
    coldfork.guard("log")
    answers = {"nothing": stage(library)}
    loaded = ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    answers["loaded"] = stage(library)
    loaded.cuInit(0)
    answers["driver"] = stage(library)
    context = ctypes.c_void_p()
    loaded.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    answers["context"] = stage(library)
    print(json.dumps(answers), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
