"""Containers: what a table or a list holds, after changes, under keys that nobody knows, when it is large."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

PROGRAMS = {
    "lists that are put together": """
import torch

for ask in [int] + [torch.cuda.get_device_name]:
    ask()  # expect: device-init-at-import
""",
    "what a table gives for a key that it may lack": """
import os
import torch

TABLE = {"a": torch.cuda.get_device_name}
ASK = {"a": 1}
some = len(os.listdir("."))

TABLE.get(some, int)()  # expect: device-init-at-import conditional
TABLE.get("a", int)()  # expect: device-init-at-import
TABLE.get("a" if some else "b", int)()  # expect: device-init-at-import conditional
if ASK.get(some):
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
if ASK.pop("b" if some else "c", None):
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
if ASK.get("a" if some else "a"):
    torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "a table with a key that nobody knows": """
import os
import torch

TABLE = {"a": int, os.path.basename(os.getcwd()): torch.cuda.get_device_name}
TABLE.get("b", int)()  # expect: device-init-at-import conditional
TABLE["a"]()
""",
    "a table that is changed between two equal calls": """
import torch

TABLE = {}

def keep(function):
    TABLE["a"] = function

def run():
    TABLE["a"]()

keep(int)
run()
keep(torch.cuda.get_device_name)
run()  # expect: device-init-at-import
""",
    "a list that is too long to be followed item by item": """
import torch

ROWS = []
for _ in range(60):
    for _ in range(10):
        ROWS.append(int)
ROWS[0]()
if len(ROWS) > 500:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
""",
    "a table that is as long as it may be": """
import os
import torch

TABLE = {}
for row in range(10):
    for column in range(50):
        TABLE[row * 50 + column] = int
if len(os.listdir(".")) > 1000000:
    TABLE[1] = torch.cuda.get_device_name
TABLE[1]()  # expect: device-init-at-import conditional
TABLE[2] = torch.cuda.get_device_name
TABLE[2]()  # expect: device-init-at-import
TABLE[3]()
""",
    "an attribute that is set back": """
import torch

class State:
    def __init__(self, ask):
        self.ask = ask

def level():
    return torch.cuda.get_device_name()

def cold():
    return None

state = State(cold)

def reset():
    state.ask = cold

def heat():
    state.ask = level

reset()
heat()
reset()
state.ask()
heat()
state.ask()  # expect: device-init-at-import
""",
    "a variable that is set back": """
import torch

ask = int

def reset():
    global ask
    ask = int

def heat():
    global ask
    ask = torch.cuda.get_device_name

def run():
    ask()

reset()
heat()
reset()
run()
heat()
run()  # expect: device-init-at-import
""",
    "an attribute of a class that is set back": """
import torch

class State:
    ask = None

def reset():
    State.ask = int

def heat():
    State.ask = torch.cuda.get_device_name

reset()
heat()
reset()
State.ask()
reset()
heat()
State.ask()  # expect: device-init-at-import
""",
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS))
def test_what_a_container_holds_is_known(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
