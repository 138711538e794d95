"""Published faults, read in their versions and explained: `./dev integration mended_versions`"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from coldfork.diagnose.installed import step_at
from coldfork.knowledge.repairs import REPAIRS, Fault, Repair
from integrations.environment import Ended, Environment
from integrations.transcript import Transcript, main
from published import sources
from published.places import ROOT
from published.sources import Wanted

BUGGY = Environment("accelerate_0_21", ("--no-deps", "accelerate==0.21.0"))
MENDED = Environment("accelerate_0_22", ("--no-deps", "accelerate==0.22.0"))
WHEELS = ("torch", "triton")

INTRODUCTION = """
`./dev integration mended_versions` fetches a buggy version of each published fault that coldfork knows,
and reads whether the fault stands there, in the function and on a line with the text that it is known by.
Then it installs two versions of accelerate, without what they depend on, and lets `coldfork explain
--python` compare them for the log of a worker. Nothing of accelerate is imported, and the machine has no
GPU.
"""
LOG = """Process ForkProcess-1:
Traceback (most recent call last):
  File "/usr/lib/python3.12/multiprocessing/process.py", line 314, in _bootstrap
    self.run()
  File "/usr/lib/python3.12/site-packages/accelerate/state.py", line 180, in __init__
    torch.cuda.set_device(self.device)
  File "/usr/lib/python3.12/site-packages/torch/cuda/__init__.py", line 408, in set_device
    torch._C._cuda_setDevice(device)
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use
"""


def run() -> Transcript:
    """Read the sources, and explain the log with each version."""
    transcript = Transcript("Published faults and the versions that mended them", INTRODUCTION)
    lines = list(_read())
    transcript.step("Every fault stands where it is said to.", Ended(0, "\n".join(lines)))
    transcript.promise("None is missing.", not any("missing" in line for line in lines))
    transcript.step(
        "A worker's log, with accelerate 0.21.0: the remedy is the next version.",
        _explained(BUGGY),
        r"^   = help: 1\. Upgrade accelerate to 0\.22\.0 or newer, where this is mended: .* 0\.21\.0 is inst",
    )
    transcript.step(
        "The same log, with accelerate 0.22.0: nothing is certain any more, and there is nothing to upgrade.",
        _explained(MENDED),
        r"^   = help: 1\. Compute it lazily",
    )
    return transcript


def _read() -> Iterator[str]:
    for repair in REPAIRS:
        for version in repair.buggy[:1]:
            home = sources.obtain(
                Wanted(repair.distribution, version, "wheel" if repair.distribution in WHEELS else None)
            )
            missing = [fault for fault in repair.faults if not _stands(fault, home)]
            mended = f"mended in {repair.fixed}" if repair.fixed else "not mended"
            standing = len(repair.faults) - len(missing)
            yield f"{repair.distribution} {version}: {standing} of its places, {mended}"
            if missing and not _is_elsewhere(repair, missing):
                yield f"  missing: {', '.join(f'{fault.path} in {fault.function}' for fault in missing)}"


def _stands(fault: Fault, home: Path) -> bool:
    for file in home.rglob(fault.path):
        for number, text in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if fault.text in text:
                step = step_at(str(file), number)
                if step is not None and fault.is_at(step.path, step.function, step.text):
                    return True
    return False


def _is_elsewhere(repair: Repair, missing: list[Fault]) -> bool:
    """Whether the places belong to other versions: a file moves, or calls another function by then."""
    return len(repair.buggy) > 1 and len(missing) < len(repair.faults)


def _explained(environment: Environment) -> Ended:
    environment.prepare()
    log = environment.folder / "worker.log"
    log.write_text(LOG, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "coldfork", "explain", log.name, "--python", environment.python],
        cwd=environment.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return Ended(done.returncode, environment.anonymous(done.stdout + done.stderr))


if __name__ == "__main__":
    sys.exit(main("mended_versions", run))
