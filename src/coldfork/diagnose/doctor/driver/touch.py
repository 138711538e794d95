"""Whether a process can wake each visible device: the one check that touches them.

Only with `--touch`, a process that ends at once calls `cuInit` and makes the primary context of every device.

- **ok**: every device made a context.
- **warn**: CUDA is initialised but sees no device.
- **fail**: a call was refused; its name and its code are given.
- **skipped**: `--touch` was not given, or there is no libcuda.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.launch.devices.management import NoAnswerError
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn
from coldfork.observe.probes.cuda_driver import MEANINGS

_NO_LIBRARY = -1
_MORE = {
    2: "the device has no memory left",
    3: "it is not initialised",
    802: "the system is not ready: the fabric manager",
}
_REMEDY = (
    "coldfork explain -- PROGRAM says more about a failing program; dmesg (NVRM, Xid) about a failing driver"
)


def examine(facts: Facts) -> Answer:
    """Wake the visible devices, if the user asked for that."""
    if facts.touch is None:
        return skipped("no device is woken unless coldfork doctor --touch asks for it")
    try:
        touched = facts.touch()
    except NoAnswerError as error:
        return fail(str(error), _REMEDY)
    if touched.code == _NO_LIBRARY:
        return skipped(f"libcuda cannot be loaded: {touched.step}")
    if touched.code:
        meaning = {**MEANINGS, **_MORE}.get(touched.code)
        said = f"{touched.step} returned {touched.code}" + (f": {meaning}" if meaning else "")
        return fail(said, _REMEDY, details=touched.devices)
    if not touched.devices:
        return warn(
            "CUDA is initialised but sees no device",
            "coldfork doctor visible-devices looks at what hides them",
        )
    count = len(touched.devices)
    noun = "device" if count == 1 else "devices"
    return ok(f"{count} {noun} made a context, in {touched.seconds:.1f} s", *touched.devices)
