"""When the driver calls an injected library, and what it holds meanwhile.

Arguments: the driver library, and a folder to build in. Needs a C compiler; says so when there is none.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path


def main(library: str, folder: Path) -> None:
    """Print what was seen."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is None:
        print(json.dumps({"untestable": "no C compiler"}))
        return
    built, seen = folder / "libinjected.so", folder / "seen"
    source = Path(__file__).with_name("injection.c")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), str(source), "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    os.environ["CUDA_INJECTION64_PATH"] = str(built)
    os.environ["COLDFORK_VALIDATE_INJECTION"] = str(seen)
    driver = ctypes.CDLL(library)
    loaded = seen.exists()
    started = time.perf_counter()
    code = driver.cuInit(0)
    seconds = time.perf_counter() - started
    again = driver.cuInit(0)
    calls = [json.loads(line) for line in seen.read_text().splitlines()] if seen.exists() else []
    print(
        json.dumps(
            {
                "called when loaded": loaded,
                "cuInit": code,
                "cuInit again": again,
                "seconds": seconds,
                "calls": calls,
            }
        )
    )


main(sys.argv[1], Path(sys.argv[2]))
