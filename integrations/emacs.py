"""Real Emacs with eglot and the language server, in batch mode: `./dev integration emacs`

Needs `emacs` 28 with eglot, which is the package elpa-eglot of Debian, or a newer one, which comes with it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from integrations.environment import Environment
from integrations.neovim import edited
from integrations.transcript import Transcript, main
from published.errors import UnavailableError
from published.places import ROOT

ENVIRONMENT = Environment("emacs", ("pygls==2.1.1",))
EDITOR = ("emacs", "--batch", "-l", ROOT / "integrations/programs/emacs.el")
INTRODUCTION = """
`./dev integration emacs` installs coldfork with the extra `lsp` into an environment of its own, opens a file
in Emacs whose default argument wakes a device, waits until flymake marks the line, takes the first code
action that eglot offers, waits until nothing is marked any more, and takes the change back. What Emacs
does is in `integrations/programs/emacs.el`.
"""


def work() -> Transcript:
    """Edit once, mend, undo."""
    if not shutil.which("emacs"):
        raise UnavailableError("there is no emacs here")
    ENVIRONMENT.prepare()
    ENVIRONMENT.pip("install", "--quiet", str(ROOT))
    version = subprocess.run(["emacs", "--version"], capture_output=True, text=True, check=True)
    transcript = Transcript(f"Emacs: {version.stdout.splitlines()[0]} with eglot", INTRODUCTION)
    with tempfile.TemporaryDirectory() as folder:
        # By this Emacs knows which folder is the project.
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        transcript.step(
            "Opened, mended, undone.",
            edited(ENVIRONMENT, EDITOR, Path(folder)),
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
