"""Real Neovim with the language server, without a screen: `./dev integration neovim`

Needs `nvim`, 0.7 or newer.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from integrations.environment import Ended, Environment
from integrations.transcript import Transcript, main
from published.errors import UnavailableError
from published.places import ROOT

ENVIRONMENT = Environment("neovim", ("pygls==2.1.1",))
EDITOR = ("nvim", "--headless", "--clean", "-c", f"luafile {ROOT / 'integrations/programs/neovim.lua'}")
ENGINE = '''\
import torch


def name_of(index=0, name=torch.cuda.get_device_name()):
    """The name of a device."""
    return name
'''
INTRODUCTION = """
`./dev integration neovim` installs coldfork with the extra `lsp` into an environment of its own, opens a
file in Neovim whose default argument wakes a device, waits until the line is marked, takes the first code
action that is offered, waits until nothing is marked any more, and takes the change back. What Neovim does
is in `integrations/programs/neovim.lua`.
"""


def edited(environment: Environment, command: Sequence[str | Path], folder: Path) -> Ended:
    """Run an editor with the server of an environment, in a project of one module."""
    (folder / "src/engine").mkdir(parents=True)
    (folder / "src/engine/__init__.py").touch()
    (folder / "src/engine/names.py").write_text(ENGINE, encoding="utf-8")
    server = str(environment.python.parent / "coldfork")
    return environment.drive(command, folder, variables={"COLDFORK": server}, errors=subprocess.DEVNULL)


def work() -> Transcript:
    """Edit once, mend, undo."""
    if not shutil.which("nvim"):
        raise UnavailableError("there is no nvim here")
    ENVIRONMENT.prepare()
    ENVIRONMENT.pip("install", "--quiet", str(ROOT))
    version = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True)
    transcript = Transcript(f"Neovim: {version.stdout.splitlines()[0]}", INTRODUCTION)
    with tempfile.TemporaryDirectory() as folder:
        transcript.step(
            "Opened, mended, undone.",
            edited(ENVIRONMENT, EDITOR, Path(folder)),
            r"^opened: marked\nline 4: importing engine\.names wakes cuda \[device-init-at-import\]$",
            r"^offered: Mend",
            r"^    if name is None:\n        name = torch\.cuda\.get_device_name\(\)$",
            r"^mended: nothing is marked$",
            r"^undone: marked\nline 4: ",
            r"^stopped: the server has ended$",
        )
    return transcript


if __name__ == "__main__":
    sys.exit(main("neovim", work))
