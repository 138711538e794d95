"""Real Emacs with eglot and the language server, in batch mode: `./dev integration emacs`

Needs `emacs` 28 with eglot, which is the package elpa-eglot of Debian, or a newer one, which comes with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from integrations.environment import Ended, Environment
from integrations.neovim import ENGINE
from integrations.transcript import Transcript, main
from published.errors import UnavailableError
from published.places import ROOT

ENVIRONMENT = Environment("emacs", ("pygls==2.1.1",))
PROGRAM = ROOT / "integrations/programs/emacs.el"
INTRODUCTION = """
`./dev integration emacs` installs coldfork with the extra `lsp` into an environment of its own, opens a file
in Emacs whose default argument wakes a device, waits until flymake marks the line, takes the first code
action that eglot offers, waits until nothing is marked any more, and takes the change back. What Emacs
does is in `integrations/programs/emacs.el`.
"""


def _edited(folder: Path) -> Ended:
    """Have Emacs do what the program says, in a project of one module."""
    (folder / "src/engine").mkdir(parents=True)
    (folder / "src/engine/__init__.py").touch()
    (folder / "src/engine/names.py").write_text(ENGINE, encoding="utf-8")
    # By this Emacs knows which folder is the project.
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    server = ENVIRONMENT.python.parent / "coldfork"
    done = subprocess.run(
        ["emacs", "--batch", "-l", str(PROGRAM)],
        cwd=folder,
        env={**os.environ, "COLDFORK": str(server)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=600,
        check=False,
    )
    return Ended(done.returncode, ENVIRONMENT.anonymous(done.stdout))


def work() -> Transcript:
    """Edit once, mend, undo."""
    if not shutil.which("emacs"):
        raise UnavailableError("there is no emacs here")
    ENVIRONMENT.prepare()
    ENVIRONMENT.pip("install", "--quiet", str(ROOT))
    version = subprocess.run(["emacs", "--version"], capture_output=True, text=True, check=True)
    transcript = Transcript(f"Emacs: {version.stdout.splitlines()[0]} with eglot", INTRODUCTION)
    with tempfile.TemporaryDirectory() as folder:
        transcript.step(
            "Opened, mended, undone.",
            _edited(Path(folder)),
            r"^with eglot \d",
            r"^opened: marked\nline 4: .*importing engine\.names wakes cuda$",
            r"^offered: Mend",
            r"^    if name is None:\n        name = torch\.cuda\.get_device_name\(\)$",
            r"^mended: nothing is marked$",
            r"^undone: marked\nline 4: ",
            r"^told: \*\*device-init-at-import\*\*: importing engine\.names wakes cuda$",
            r"^stopped: the server has ended$",
        )
    return transcript


if __name__ == "__main__":
    sys.exit(main("emacs", work))
