"""Of several ways in which an import wakes the device, the first that runs is told, and how sure it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.knowledge.known import known as known_on
from coldfork.model.effects import PROFILES, Effect
from coldfork.source.analysis import Request, analyse
from tests.source.expectations import Setting, assert_as_expected, lay_out, observe

WAYS = {
    "a longer way that runs first": (
        """
### user.py
import dep
### beside/dep.py
import torch

def ask():
    torch.cuda.synchronize()

torch.cuda.device_count()
ask()
torch.cuda.init()
""",
        ["user:1", "dep:7", "ask:4", "torch.cuda.synchronize"],
    ),
    "an import that runs first": (
        """
### user.py
import dep
### beside/dep.py
import deeper
import torch

def ask():
    torch.cuda.init()

ask()
### beside/deeper.py
import torch
torch.cuda.synchronize()
""",
        ["user:1", "dep:1", "deeper:2", "torch.cuda.synchronize"],
    ),
    "an import behind what woke already": (
        """
### user.py
import dep
### beside/dep.py
import torch

def ask():
    torch.cuda.init()

ask()
import deeper
### beside/deeper.py
import torch
torch.cuda.synchronize()
""",
        ["user:1", "dep:6", "ask:4", "torch.cuda.init"],
    ),
    "an import on the line that woke already": (
        """
### user.py
import dep
### beside/dep.py
import torch

def ask():
    torch.cuda.init()

ask(); import deeper
### beside/deeper.py
import torch
torch.cuda.synchronize()
""",
        ["user:1", "dep:6", "ask:4", "torch.cuda.init"],
    ),
    "an import that may not run": (
        """
### user.py
import dep
### beside/dep.py
import os
import torch

def ask():
    torch.cuda.init()

if os.getpid() == 1:
    import deeper
ask()
### beside/deeper.py
import torch
torch.cuda.synchronize()
""",
        ["user:1", "dep:9", "ask:5", "torch.cuda.init"],
    ),
    "a wake that may not happen": (
        """
### user.py
import dep
### beside/dep.py
import os
import torch

def ask():
    torch.cuda.init()

if os.getpid() == 1:
    torch.cuda.synchronize()
ask()
""",
        ["user:1", "dep:9", "ask:5", "torch.cuda.init"],
    ),
    "a wake of another device": (
        """
### user.py
import dep
### beside/dep.py
import torch

def ask():
    torch.cuda.init()

torch.xpu.init()
ask()
""",
        ["user:1", "dep:7", "ask:4", "torch.cuda.init"],
    ),
    "a package before its module": (
        """
### user.py
import dep
### beside/dep.py
import torch
import pkg.sub

def ask():
    torch.cuda.init()

ask()
### beside/pkg/__init__.py
import torch
torch.cuda.synchronize()
### beside/pkg/sub.py
import torch
torch.cuda.init()
""",
        ["user:1", "dep:2", "pkg:2", "torch.cuda.synchronize"],
    ),
    "the first of two imports": (
        """
### user.py
import dep
### beside/dep.py
import first
import second
### beside/first.py
import torch
torch.cuda.synchronize()
### beside/second.py
import torch
torch.cuda.init()
""",
        ["user:1", "dep:1", "first:2", "torch.cuda.synchronize"],
    ),
}


def way(effect: Effect) -> list[str]:
    """The steps to a wake."""
    return [f"{step.symbol}:{step.line}" if step.line else step.symbol for step in effect.chain.steps]


@pytest.mark.parametrize(("text", "wanted"), WAYS.values(), ids=[name.replace(" ", "-") for name in WAYS])
def test_the_way_that_runs_first_is_told(text: str, wanted: list[str], tmp_path: Path) -> None:
    lay_out(text, tmp_path)
    (effect,) = observe([tmp_path / "tree"], site_packages=tmp_path / "beside").effects
    assert way(effect) == wanted


def test_what_an_entry_is_sure_to_reach_is_certain(tmp_path: Path) -> None:
    """However many other ways there are to it."""
    text = """
### main.py
import os
import quick
if os.getpid() == 1:
    import quick  # expect: waking-import conditional
    import slow  # expect: waking-import conditional
### quick.py
import torch
torch.cuda.init()  # expect: device-init-at-import
### slow.py
import torch
torch.cuda.init()  # expect: device-init-at-import conditional
### unreached.py
import torch
torch.cuda.init()
"""
    assert_as_expected(text, tmp_path, Setting(entries=("main",), runs=False))


@pytest.mark.parametrize("presumes", ["acme's driver is there", ""])
def test_what_the_import_of_a_library_presumes_is_told(presumes: str, tmp_path: Path) -> None:
    entry = {
        "imports": ["acme.auto"],
        "does": "initialises-driver",
        "accelerator": ["cuda"],
        "distribution": "acme",
        "source": "acme.py",
    }
    profile = PROFILES["cuda"]
    given = {"presumes": presumes} if presumes else {}
    known = known_on(profile, {}, {"effect": [entry | given]})
    lay_out("### user.py\nimport acme.auto\n### beside/acme/auto.abi3.so\n", tmp_path)
    seen = analyse(Request((tmp_path / "tree",), profile, known, search=(tmp_path / "beside",), jobs=1))
    (effect,) = seen.effects
    assert (effect.line, effect.presumed) == (1, (presumes,) if presumes else ())


@pytest.mark.parametrize("version", [(3, 12), (3, 13), (3, 14)])
def test_code_is_followed_as_python_3_13_runs_it(version: tuple[int, int], tmp_path: Path) -> None:
    """Unless another version is asked for."""
    lay_out("import sys, torch\nif (3, 13) <= sys.version_info < (3, 14):\n    torch.cuda.init()\n", tmp_path)
    profile = PROFILES["cuda"]
    request = Request((tmp_path / "tree",), profile, known_on(profile, {}), jobs=1)
    assert len(analyse(request).effects) == 1
    asked = Request((tmp_path / "tree",), profile, known_on(profile, {}), target_version=version, jobs=1)
    assert len(analyse(asked).effects) == (version == (3, 13))
