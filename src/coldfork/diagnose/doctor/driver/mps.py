"""Whether processes share devices through MPS, NVIDIA's multi-process service.

Clients find its daemon by pipes in the folder that CUDA_MPS_PIPE_DIRECTORY names, or else in the folder
nvidia-mps among the system's temporary files. If there are no pipes, CUDA silently does without MPS.

- **ok**: no daemon and no variable that expects one, or a daemon that this process finds.
- **warn**: a CUDA_MPS variable expects a daemon that is not there, or the daemon listens elsewhere.
- **fail**: the daemon's pipe is closed to this user: contexts cannot be made.
- **skipped**: there is no NVIDIA driver.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

PIPES = "CUDA_MPS_PIPE_DIRECTORY"
_DEFAULT = str(PurePosixPath("/", "tmp", "nvidia-mps"))
_DAEMON = "nvidia-cuda-mps"


def examine(facts: Facts) -> Answer:
    """Compare the variables for MPS with the MPS daemons that are running."""
    if not facts.has_nvidia:
        return skipped("there is no NVIDIA driver here")
    folder = facts.variables.get(PIPES, _DEFAULT)
    control = f"{folder}/control"
    expecting = sorted(name for name in facts.variables if name.startswith("CUDA_MPS_"))
    if facts.files.exists(control):
        if not facts.files.may_use(control):
            return fail(
                f"the pipe of the MPS daemon, {control}, is closed to this user",
                f"ask its owner for access, or, to do without MPS, set {PIPES} to a folder without pipes",
            )
        return ok(f"an MPS daemon listens in {folder}")
    if _runs(facts):
        return warn(
            f"an MPS daemon runs, but its pipe is not in {folder}: processes started here do not use it",
            f"set {PIPES} to the folder that the daemon was started with",
        )
    if expecting:
        expect = "expects" if len(expecting) == 1 else "expect"
        return warn(
            f"{', '.join(expecting)} {expect} an MPS daemon, but none listens in {folder}",
            "start it with nvidia-cuda-mps-control -d in the same environment, or unset the variables",
        )
    return ok("there is no MPS daemon, and nothing expects one")


def _runs(facts: Facts) -> bool:
    pids = (name for name in facts.files.names("/proc") if name.isdecimal())
    return any((facts.files.text(f"/proc/{pid}/comm") or "").startswith(_DAEMON) for pid in pids)
