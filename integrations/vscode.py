"""The extension for VS Code, packaged and run under Node against the real server: `./dev integration vscode`

Needs `node` and `npm`, and reaches the npm registry.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from integrations.environment import Ended, Environment
from integrations.neovim import ENGINE
from integrations.transcript import Transcript, main
from published.errors import UnavailableError
from published.places import ROOT

ENVIRONMENT = Environment("vscode", ("pygls==2.1.1",))
EXTENSION = ROOT / "editors/vscode"
FILES = {
    "__init__.py": "",
    "devices.py": "import torch\n\n\ndef name():\n    return torch.cuda.get_device_name()\n",
    "kinds.py": "from engine import devices\n\nKIND = devices.name()\n",
    "names.py": ENGINE,
    "reader.py": "from engine.names import name_of\n",
}
INTRODUCTION = """
`./dev integration vscode` installs coldfork with the extra `lsp` into an environment of its own and installs
what the extension is built with (`npm ci`), checks its types and packages it with `vsce`. The client in that
package is then run under Node. Around it stands `editors/vscode/test/host.js`, which is as much of VS Code as
the client touches; the server is the real one. What is done there is in `editors/vscode/test/drive.js`.
VS Code itself was not run.
"""


def _packaged(built: Path) -> Ended:
    """Build the extension in a copy of its folder; say which files the package has."""
    shutil.rmtree(built, ignore_errors=True)
    shutil.copytree(EXTENSION, built, ignore=shutil.ignore_patterns("node_modules", "out", "*.vsix"))
    for command in (["npm", "ci", "--no-progress"], ["npm", "run", "package"]):
        done = ENVIRONMENT.drive(command, built)
        if done.status:
            return done
    with zipfile.ZipFile(built / "coldfork.vsix") as package:
        package.extractall(built / "unpacked")
        return Ended(0, "\n".join(sorted(package.namelist())))


def _driven(built: Path, folder: Path) -> Ended:
    """Have the packaged client do what somebody does in the editor, in a project of a few modules."""
    (folder / "src/engine").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / "src/engine" / name).write_text(text, encoding="utf-8")
    server = ENVIRONMENT.python.parent / "coldfork"
    return ENVIRONMENT.drive(
        ["node", built / "test/drive.js", built / "unpacked/extension", "src/engine/names.py", server], folder
    )


def work() -> Transcript:
    """Package, open, mend, undo, ignore, and open a notebook."""
    if not (shutil.which("node") and shutil.which("npm")):
        raise UnavailableError("there is no node here, or no npm")
    ENVIRONMENT.prepare()
    ENVIRONMENT.pip("install", "--quiet", str(ROOT))
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    transcript = Transcript(f"VS Code: the client under Node {version.stdout.strip()}", INTRODUCTION)
    built = ENVIRONMENT.folder / "extension"
    transcript.step("Type-checked and packaged.", _packaged(built), r"^extension/out/extension\.js$")
    with tempfile.TemporaryDirectory() as folder:
        transcript.step(
            "Opened, mended, undone, ignored; and a notebook.",
            _driven(built, Path(folder)),
            r"^not installed: .*nowhere/coldfork, .* Install coldfork with its extra `lsp` ",
            r"^opened: marked\nline 4: importing engine\.names wakes cuda \[device-init-at-import\]$",
            r"^kinds\.py by way of devices\.py:5 name$",
            r"^above line 4: wakes 2 modules\n  shown: reader\.py:1$",
            r"^offered: Mend",
            r"^    if name is None:\n        name = torch\.cuda\.get_device_name\(\)$",
            r"^mended: nothing is marked$",
            r"^undone: marked\nline 4: ",
            r"# coldfork: ignore\[device-init-at-import\] only the launcher imports this$",
            r"^ignored: nothing is marked$",
            r"^a notebook, in its second cell: line 2: ",
            r"^the cell edited: nothing is marked$",
            r"^the rule's page: # device-init-at-import$",
            r"^stopped: the server has ended$",
        )
    return transcript


if __name__ == "__main__":
    sys.exit(main("vscode", work))
