"""Conditions that are kept: of a `try` that is left early, of a guarded import, of one way among two."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.model.effects import Verdict
from tests.source.expectations import Setting, assert_as_expected, cases, observe

PROGRAMS = {
    "a return inside a try": """
import os
import torch

def known(cls):
    if os.path.exists("nowhere at all"):
        return True
    return False

def load():
    try:
        if known(torch):
            return None
    except ImportError:
        return None
    return torch.cuda.get_device_name()

LIB = load()  # expect: device-init-at-import conditional
""",
    "a return inside a try, before a line that wakes for certain": """
import os
import torch

def load():
    try:
        if os.path.exists("nowhere at all"):
            return None
    except ImportError:
        return None
    return torch.cuda.get_device_name()

def patch():
    torch.cuda.get_device_name()

if os.environ.get("DISABLE", "0") == "0":
    LIB = load()  # expect: device-init-at-import conditional
    patch()  # expect: device-init-at-import
""",
    "both ways of a test": """
import os
import torch

if os.path.exists("nowhere at all"):
    torch.cuda.get_device_name()  # expect: device-init-at-import
else:
    torch.cuda.get_device_properties(0)  # expect: device-init-at-import
""",
    "an import that a try allows to be missing": """
### pkg/__init__.py
try:
    from .plugin import layer  # expect: waking-import conditional
except ImportError:
    layer = None
### pkg/plugin.py
import transformer_engine.pytorch as te  # expect: waking-import

layer = te.Linear
### pkg/needed.py
from .plugin import layer
""",
}
SETTINGS = {
    "both ways of a test": Setting(runs=False),
    "an import that a try allows to be missing": Setting(runs=False),
}
WORDS = {
    "a return inside a try": "not (known(torch))",
    "a return inside a try, before a line that wakes for certain": 'not (os.path.exists("nowhere at all"))',
    "an import that a try allows to be missing": "transformer_engine is installed",
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS, SETTINGS))
def test_what_has_to_hold_is_kept(text: str, setting: Setting, tmp_path: Path) -> None:
    findings = assert_as_expected(text, tmp_path, setting)
    (name,) = [name for name, program in PROGRAMS.items() if program == text]
    said = [finding.condition for finding in findings if finding.verdict.value == "conditional"]
    assert said == [words for words in [WORDS.get(name)] if words]


V0 = "the environment variable V0 is set"
SECOND = '(the environment variable V2 is unset or os.environ.get("V2", "") != "x")'
THIRD = 'the environment variable V2 is set and os.environ.get("V2", "") == "x"'
EITHER = "the environment variable V2 is unset or the environment variable V1 is set"


@pytest.mark.parametrize(
    ("test", "condition"),
    [
        ('os.environ.get("V0") and os.environ.get("V2", "") != "x"', f"{V0} and {SECOND}"),
        ('os.environ.get("V2", "") != "x" and os.environ.get("V0")', f"{V0} and {SECOND}"),
        ('os.environ.get("V0") and os.environ.get("V2", "") == "x"', f"{V0} and {THIRD}"),
        (
            'os.environ.get("V1") or os.environ.get("V0") and not os.environ.get("V2")',
            f"{V0} and {EITHER}",
        ),
    ],
)
def test_what_each_operand_presumes_is_said(test: str, condition: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        f"import os\nimport torch\nif {test}:\n    torch.cuda.synchronize()\n", encoding="utf-8"
    )
    (effect,) = observe([tmp_path]).effects
    assert (effect.verdict, effect.condition, effect.presumed) == (Verdict.CONDITIONAL, condition, ())
