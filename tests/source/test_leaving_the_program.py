"""Programs that may be left before they wake anything: what follows depends on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

PROGRAMS = {
    "the end of the process, asked of the system": """
import os
import torch

if os.environ.get("NOBODY_SETS_THIS") or len(os.listdir(".")) > 100000:
    os._exit(1)
torch.cuda.get_device_name()  # expect: device-init-at-import conditional
""",
    "a parser": """
import argparse
import torch

torch.cuda.synchronize()  # expect: device-init-at-import
parser = argparse.ArgumentParser()
parser.add_argument("name", nargs="+")
arguments = parser.parse_args()
torch.cuda.get_device_name()  # expect: device-init-at-import conditional
""",
    "a parser in a function": """
import argparse
import torch

def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    return parser.parse_args()

def main():
    torch.cuda.synchronize()
    chosen = arguments()
    torch.cuda.get_device_name()

main()  # expect: device-init-at-import
""",
    "a parser before all that wakes": """
import argparse
import torch

class Parser(argparse.ArgumentParser):
    pass

def arguments():
    return Parser().parse_args()

def main():
    chosen = arguments()
    torch.cuda.get_device_name()

main()  # expect: device-init-at-import conditional
""",
    "a parser that is told what to parse": """
import argparse
import torch

arguments = argparse.ArgumentParser().parse_args([])
torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "a test of the command line": """
import sys
import torch

if len(sys.argv) < 200:
    sys.exit(2)
torch.cuda.get_device_name()  # expect: device-init-at-import conditional
""",
    "a test of the command line in a function": """
import sys
import torch

def check():
    if len(sys.argv) < 200:
        raise SystemExit("usage")

check()
torch.cuda.get_device_name()  # expect: device-init-at-import conditional
""",
    "a test that is caught": """
import sys
import torch

try:
    if len(sys.argv) < 200:
        sys.exit(1)
except SystemExit:
    pass
torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "the end of a program": """
import sys
import torch

def main():
    return 0

sys.exit(main())
torch.cuda.get_device_name()
""",
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS))
def test_what_follows_depends_on_the_command_line(text: str, setting: Setting, tmp_path: Path) -> None:
    findings = assert_as_expected(text, tmp_path, setting)
    assert all(finding.condition for finding in findings if finding.verdict.value == "conditional")
