"""Whether LD_LIBRARY_PATH and LD_PRELOAD put something in front of the driver.

The stub of the CUDA toolkit is a `libcuda.so` without a driver: a program that finds it first sees no device.
CUDA's compatibility packages serve only data-centre devices.

- **ok**: neither is set, or they do not affect the driver.
- **warn**: a compatibility package is on the path, or a library of CUDA is preloaded.
- **fail**: a folder with the toolkit's stub is on the path.
- **skipped**: this is not Linux.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, together, warn


def examine(facts: Facts) -> Answer:
    """Search each folder of the library path for files that hide the driver's."""
    if not facts.system.is_linux:
        return skipped(f"they are read only on Linux, and this is {facts.system.platform}")
    path = facts.variables.get("LD_LIBRARY_PATH", "")
    folders = [folder for folder in path.split(":") if folder]
    well = f"LD_LIBRARY_PATH={path}" if path else "neither LD_LIBRARY_PATH nor LD_PRELOAD is set"
    preloaded = facts.variables.get("LD_PRELOAD", "")
    troubles = [*_of_folders(facts, folders), *_of_preloaded(preloaded)]
    return together(troubles, ok(well if not preloaded else f"{well}, LD_PRELOAD={preloaded}"))


def _of_folders(facts: Facts, folders: list[str]) -> Iterator[Answer]:
    for folder in folders:
        if folder.rstrip("/").endswith("/stubs") and any(
            n.startswith("libcuda.so") for n in facts.files.names(folder)
        ):
            yield fail(
                f"{folder} holds the toolkit's stub instead of the driver",
                f"take {folder} out of LD_LIBRARY_PATH",
            )
        elif folder.rstrip("/").endswith("/compat") and facts.files.exists(f"{folder}/libcuda.so.1"):
            yield warn(
                f"{folder} holds a driver of CUDA's compatibility package, for data-centre devices only",
                f"remove {folder} from LD_LIBRARY_PATH if the machine's driver is new enough",
            )


def _of_preloaded(preloaded: str) -> Iterator[Answer]:
    words = preloaded.replace(":", " ").split()
    for word in words:
        if any(name in word for name in ("libcuda.so", "libcudart", "libnvidia-ml")):
            yield warn(
                f"LD_PRELOAD puts {word} into every process",
                "unset it, so that the loader finds the driver itself",
            )
