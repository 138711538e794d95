"""A module that nobody imports is let go once it has been followed, and can be asked for again."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.source.program.module import Module
from tests.source.expectations import observe, write

FILES = {
    "tree/pkg/__init__.py": "",
    "tree/pkg/base.py": "class Platform:\n    def level(self):\n        return 0\n",
    "tree/pkg/alone.py": (
        "import torch\nfrom pkg.base import Platform\n\n\nclass Alone(Platform):\n    def level(self):\n"
        "        return torch.cuda.get_device_capability()\n"
    ),
    "tree/pkg/user.py": (
        "from pkg.base import Platform\n\ndef ask(platform: Platform):\n    return platform.level()\n"
        "def current() -> Platform:\n    return eval('x')\nLEVEL = ask(current())\n"
    ),
}


def test_only_what_nobody_imports_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[str] = []
    release = Module.release

    def noted(self: Module) -> None:
        released.append(self.name)
        release(self)
        assert self.summary.binds, "it is there again for who asks"
        release(self)

    monkeypatch.setattr(Module, "release", noted)
    write(FILES, tmp_path)
    told = [(one.path, one.line, one.chain.symbols) for one in observe([tmp_path / "tree"]).effects]
    assert released == ["pkg.alone", "pkg.user"]
    assert told[0][:2] == ("pkg/user.py", 7), "a class is found in what was let go"
    monkeypatch.setattr(Module, "release", lambda self: None)
    assert told == [(one.path, one.line, one.chain.symbols) for one in observe([tmp_path / "tree"]).effects]
