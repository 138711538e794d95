"""Imports small packages with stand-ins for torch and CUDA's bindings; prints which calls were made.

Started as a program with folders as arguments: `FOLDER[:FOLDER beside]...`; prints one JSON list for each.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

CALLS: list[str] = []


def recorded(name: str, answer: object) -> object:
    """A function that remembers its name and gives a fixed answer."""

    def call(*arguments: object, **words: object) -> object:
        CALLS.append(name)
        return answer

    return call


def install() -> None:
    """Put the stand-ins where an import finds them."""
    torch = ModuleType("torch")
    torch.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        is_available=recorded("is_available", True),
        get_device_capability=recorded("get_device_capability", (9, 0)),
        get_device_properties=recorded("get_device_properties", SimpleNamespace(multi_processor_count=4)),
        current_device=recorded("current_device", 0),
        current_stream=recorded("current_stream", None),
        synchronize=recorded("synchronize", None),
    )
    torch.version = SimpleNamespace(cuda="12.8")  # type: ignore[attr-defined]
    torch.device = recorded("device", "cuda:0")  # type: ignore[attr-defined]
    torch.__config__ = SimpleNamespace(show=recorded("show", ""))  # type: ignore[attr-defined]
    driver = ModuleType("cuda.bindings.driver")
    driver.cuInit = recorded("cuInit", (0,))  # type: ignore[attr-defined]
    bindings = ModuleType("cuda.bindings")
    bindings.driver = driver  # type: ignore[attr-defined]
    sys.modules.update({"torch": torch, "cuda": ModuleType("cuda"), "cuda.bindings": bindings})
    sys.modules["cuda.bindings.driver"] = driver


def calls_of(folders: list[str]) -> list[str]:
    """Import every module of the first folder; the others only stand beside it."""
    CALLS.clear()
    before, path = set(sys.modules), list(sys.path)
    sys.path[:0] = folders
    importlib.invalidate_caches()
    try:
        for file in sorted(Path(folders[0]).rglob("*.py")):
            parts = file.relative_to(folders[0]).with_suffix("").parts
            importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            del sys.modules[name]
    return sorted(CALLS)


def main() -> None:
    """Answer for every package named on the command line."""
    sys.dont_write_bytecode = True
    install()
    print(json.dumps([calls_of(argument.split(":")) for argument in sys.argv[1:]]))


if __name__ == "__main__":
    main()
