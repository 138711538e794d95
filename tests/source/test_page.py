"""The list of what `check` does not see, on the page How check works: neither too short nor too long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

NOT_ASKED = Setting(runs=False)

FOLLOWED = {
    "an attribute of a class, set from outside its body": """
import torch

class Backend:
    pass

Backend.probe = lambda self: torch.cuda.get_device_capability()
Backend().probe()  # expect: device-init-at-import
""",
    "an attribute of another module's class": """
### holder.py
class Backend:
    pass

### m.py
import holder
import torch

holder.Backend.probe = lambda self: torch.cuda.get_device_capability()
holder.Backend().probe()  # expect: device-init-at-import
""",
    "another module's registry, filled here": """
### registry.py
ALL = {}

def register(function):
    ALL[function.__name__] = function
    return function

def run():
    for function in ALL.values():
        function()

### m.py
import registry
import torch

@registry.register
def wake():
    torch.cuda.get_device_capability()

registry.run()  # expect: device-init-at-import
""",
    "the __dict__ of an object": """
import torch

class Backend:
    pass

backend = Backend()
backend.__dict__["probe"] = torch.cuda.get_device_capability
backend.probe()  # expect: device-init-at-import
""",
    "vars of an object": """
import torch

class Backend:
    pass

backend = Backend()
vars(backend)["probe"] = torch.cuda.get_device_capability
backend.probe()  # expect: device-init-at-import
""",
    "object.__setattr__": """
import torch

class Backend:
    pass

backend = Backend()
object.__setattr__(backend, "probe", torch.cuda.get_device_capability)
backend.probe()  # expect: device-init-at-import
""",
}

# Each of these wakes the device. Whoever teaches `check` to see one takes it off the page and moves it up.
NOT_SEEN = {
    "a name that another module sets": """
### hooks.py
CALLBACK = None

def run():
    if CALLBACK is not None:
        CALLBACK()

### m.py
import hooks
import torch

hooks.CALLBACK = torch.cuda.get_device_capability
hooks.run()
""",
    "a registry that a third module fills": """
### registry.py
ALL = {}

def register(function):
    ALL[function.__name__] = function
    return function

def run():
    for function in ALL.values():
        function()

### fills.py
import registry
import torch

@registry.register
def wake():
    torch.cuda.get_device_capability()

### m.py
import registry
import fills

registry.run()
""",
    "an attribute of a function": """
import torch

def holder():
    pass

holder.wake = torch.cuda.get_device_capability
holder.wake()
""",
    "a method taken out of a class's own __dict__": """
import torch

class Backend:
    def probe(self):
        torch.cuda.get_device_capability()

Backend.__dict__["probe"](Backend())
""",
    "a thread": """
import threading
import torch

thread = threading.Thread(target=torch.cuda.get_device_capability)
thread.start()
thread.join()
""",
    "deep recursion": """
import torch

def down(n):
    if n == 0:
        return torch.cuda.get_device_capability()
    return down(n - 1)

down(40)
""",
    "a later round of a loop": """
import sys
import torch

rounds = 0
for _ in sys.path:
    if rounds == 1:
        torch.cuda.get_device_capability()
    rounds += 1
""",
}


@pytest.mark.parametrize(("text", "setting"), cases(FOLLOWED))
def test_it_is_followed_as_the_page_says(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)


@pytest.mark.parametrize(("text", "setting"), cases(NOT_SEEN, dict.fromkeys(NOT_SEEN, NOT_ASKED)))
def test_it_is_not_seen_as_the_page_says(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
