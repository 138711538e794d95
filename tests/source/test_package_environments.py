"""The variables that importing a package sets for its modules: by which imports, and from when on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

SETS = 'import os\nos.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"\n'
ASKS = "import torch\ntorch.cuda.is_available()"
QUERIES = f"{ASKS}  # expect: device-query-at-import conditional"
WAKES = f"{ASKS}  # expect: driver-init-at-import"

PACKAGES = {
    "a package that sets a variable": f"""
### pkg/__init__.py
{SETS}
### pkg/user.py
{QUERIES}
""",
    "a package that sets none": f"""
### pkg/__init__.py
### pkg/user.py
{WAKES}
""",
    "a package that imports what sets it": f"""
### pkg/__init__.py
from . import override
### pkg/override.py
{SETS}
### pkg/user.py
{QUERIES}
""",
    "a package that imports what imports what sets it": f"""
### pkg/__init__.py
from pkg.first import name
### pkg/first.py
import pkg.override
name = 1
### pkg/override.py
{SETS}
### pkg/user.py
{QUERIES}
""",
    "a package whose modules import one another": f"""
### pkg/__init__.py
from pkg import first
### pkg/first.py
from pkg import second
{SETS}
### pkg/second.py
from pkg import first
### pkg/user.py
{QUERIES}
""",
    "a module that sets it for the module that imports it": f"""
### pkg/__init__.py
### pkg/override.py
{SETS}
### pkg/user.py
from pkg import override
{QUERIES}
""",
    "a module that sets it for nobody": f"""
### pkg/__init__.py
### pkg/override.py
{SETS}
### pkg/user.py
{WAKES}
""",
    "a module that sets it for itself": f"""
### pkg/__init__.py
### pkg/user.py
{SETS}{QUERIES}
""",
    "a module that sets it too late": f"""
### pkg/__init__.py
### pkg/user.py
{WAKES}
{SETS}
""",
    "a package that sets it behind the import of a module": f"""
### pkg/__init__.py
from pkg import early  # expect: waking-import
{SETS}
### pkg/early.py
{WAKES}
### pkg/late.py
{QUERIES}
""",
    "another package that sets it": f"""
### other/__init__.py
{SETS}
### pkg/__init__.py
### pkg/user.py
{WAKES}
""",
}

#: What is still said wrongly of some of these.
WRONG = {
    "a module that sets it for the module that imports it": "calls are not judged by what an import above set"
}


@pytest.mark.parametrize(("text", "setting"), cases(PACKAGES, wrong=WRONG))
def test_the_environment_of_a_package(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
