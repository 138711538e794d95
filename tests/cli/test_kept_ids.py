"""Baselines that were written before causes were told by their first lines still hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

pytestmark = pytest.mark.once

Run = Callable[..., Result]
Write = Callable[[dict[str, str]], None]

_SOURCES = {
    "engine/__init__.py": "from engine.api import run\n",
    "engine/api.py": "from engine import constants\n\n\ndef run(): ...\n",
    "engine/constants.py": "import torch\n\n\ndef supported():\n    if not torch.cuda.is_available():\n"
    "        return False\n    return torch.cuda.get_device_capability() >= (9, 0)\n\n\n"
    "SUPPORTED = supported()\n",
    "engine/ops/__init__.py": "from engine.ops.dequant import dequant\nfrom engine.ops.quant import quant\n",
    "engine/ops/dequant.py": "import flashinfer\n\n\ndef dequant(): ...\n",
    "engine/ops/quant.py": "import flashinfer\n\n\ndef quant(): ...\n",
    "engine/tutorials/first.py": "import torch\n\nNAME = torch.cuda.get_device_name()\n",
    "engine/marked.py": "import torch\n\n\ndef mark(name):\n    return lambda function: function\n\n\n"
    "@mark(torch.cuda.get_device_name())\ndef f(x=torch.cuda.is_available()): ...\n",
    "run.py": "import torch\n\nprint(torch.cuda.is_available())\nprint(torch.cuda.get_device_name())\n",
}
#: As they were before.
_IDS = {
    "9d76f13c1a324560cbc8": "waking-import",
    "cbd447f63ca56e1501c8": "device-init-at-import",
    "a8fe2d56f0bed37a8a18": "device-init-at-import",
    "19f26539b89abb0dbd12": "driver-init-at-import",
    "45925454f82bcbc2c898": "eager-reexport",
    "d82dc5469eb054fce1ab": "eager-reexport",
    "fe60f48ecb8a0730b333": "waking-import",
    "ce035c16f35218e7194a": "waking-import",
    "60b8d5e9454cb04633b0": "device-init-at-import",
    "208c5b48cf2934730880": "device-init-at-import",
    "6c837da6a19627d664d6": "driver-init-at-import",
}


def test_the_findings_have_the_ids_that_they_had(write: Write, run: Run) -> None:
    write(_SOURCES)
    told = json.loads(run("check", "--no-cache", "--site-packages", "nothing", "--format", "json").stdout)
    assert {finding["id"]: finding["rule"] for finding in told["findings"]} == _IDS


def test_a_baseline_with_these_ids_holds(write: Write, run: Run) -> None:
    write(_SOURCES)
    findings = {
        name: {"rule": rule, "path": "engine/__init__.py", "message": ""} for name, rule in _IDS.items()
    }
    held = {
        "schema_version": 1,
        "profile": "cuda",
        "findings": findings,
        "warm": {"cuda": ["engine", "run"]},
    }
    Path("coldfork-baseline.json").write_text(json.dumps(held), encoding="utf-8")
    result = run("check", "--no-cache", "--site-packages", "nothing", "--baseline", "coldfork-baseline.json")
    assert result.exit_code == 0
    assert "11 known to the baseline" in result.stdout
    assert "gone" not in result.stdout
