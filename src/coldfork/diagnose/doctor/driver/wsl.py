"""Whether this is Windows' subsystem for Linux, and whether its devices come through.

WSL uses Windows' own driver: the device is `/dev/dxg`, and `libcuda.so.1` is in `/usr/lib/wsl/lib`. vLLM
always starts its workers by spawn there.

- **ok**: WSL 2 with both.
- **warn**: a Linux driver was installed beside Windows' and may be found first.
- **fail**: there is no `/dev/dxg`, or no `libcuda.so.1` from Windows.
- **skipped**: this is not WSL.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_FROM_WINDOWS = "/usr/lib/wsl/lib/libcuda.so.1"
_OF_LINUX = ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1")


def examine(facts: Facts) -> Answer:
    """Look for the parts that WSL brings in from Windows."""
    if "microsoft" not in facts.system.release.lower():
        return skipped("this is not WSL")
    if not facts.files.exists("/dev/dxg"):
        return fail(
            "WSL without /dev/dxg",
            "update it: wsl --update in Windows; WSL 1 has no devices: wsl --set-version",
        )
    if not facts.files.exists(_FROM_WINDOWS):
        return fail("WSL without libcuda.so.1", "install NVIDIA's driver in Windows, and none in WSL")
    beside = next((file for file in _OF_LINUX if facts.files.exists(file)), None)
    if beside is not None:
        return warn(
            f"WSL, but {beside} of a Linux driver may be found before Windows' own",
            "remove the packages of the Linux driver: in WSL, Windows brings its own",
        )
    return ok("WSL 2, with the driver of Windows")
