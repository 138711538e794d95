"""Compiles what may be compiled: `python hatch_build.py` in place (`pure` undoes it), hatchling for a wheel.

Nothing depends on it: without a compiler the twins in Python do the work. A wheel is pure and good for any
Python, unless COLDFORK_COMPILED=1 asks for one of this Python and this machine.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from hashlib import blake2b
from pathlib import Path

FOLDER = Path("src", "coldfork", "source", "syntax", "native")


def compile_skeleton(root: Path, folder: Path) -> Path | None:
    """Compile the skeleton into a folder; None where that cannot be done, with a word about why."""
    settings = {name: sysconfig.get_config_var(name) for name in ("LDSHARED", "CCSHARED", "EXT_SUFFIX")}
    if not settings["LDSHARED"] or not settings["EXT_SUFFIX"]:
        return None
    source = root / FOLDER / "skeleton.c"
    digest = blake2b(source.read_bytes(), digest_size=16).hexdigest()
    target = folder / f"_skeleton{settings['EXT_SUFFIX']}"
    made = folder / f"{target.name}.new"
    # The interpreter's own libraries are not needed, and where they lie is of interest to nobody else.
    linker = [word for word in shlex.split(settings["LDSHARED"]) if not word.startswith(("-L", "-Wl,-rpath"))]
    command = [
        *linker,
        *shlex.split(settings["CCSHARED"] or ""),
        "-O3",
        "-DNDEBUG",  # an assertion holds the path of the header that it stands in
        f"-I{sysconfig.get_path('include')}",
        f'-DSOURCE_DIGEST="{digest}"',
        str(source),
        "-o",
        str(made),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            made.replace(target)  # a process that runs keeps the module that it has loaded
            return target
        trouble = done.stderr.strip()
    except OSError as error:
        trouble = str(error)
    sys.stderr.write(f"nothing was compiled, and nothing needs it ({trouble[-300:]})\n")
    return None


def remove_compiled(folder: Path) -> None:
    """Remove what was compiled for this Python, if anything was."""
    (folder / f"_skeleton{sysconfig.get_config_var('EXT_SUFFIX')}").unlink(missing_ok=True)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    if sys.argv[1:] == ["pure"]:
        remove_compiled(here / FOLDER)
    else:
        compile_skeleton(here, here / FOLDER)
else:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface

    class CompilingHook(BuildHookInterface):
        """Adds the compiled skeleton to a wheel, and to the checkout of an editable installation."""

        def initialize(self, version: str, build_data: dict[str, object]) -> None:
            """Compile for an editable installation, and for a wheel where that is asked for."""
            root = Path(self.root)
            if version == "editable":
                if not os.environ.get("COLDFORK_PURE"):
                    compile_skeleton(root, root / FOLDER)
                return
            if os.environ.get("COLDFORK_COMPILED") != "1":
                return
            self._scratch = tempfile.TemporaryDirectory()
            made = compile_skeleton(root, Path(self._scratch.name))
            if made is None:
                raise SystemExit("COLDFORK_COMPILED asks for a compiled wheel, and nothing could be compiled")
            included = build_data["force_include"]
            assert isinstance(included, dict)
            included[str(made)] = f"{FOLDER.relative_to('src').as_posix()}/{made.name}"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
