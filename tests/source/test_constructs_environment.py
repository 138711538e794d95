"""The surroundings of the checked code: dependencies, entry points, `.pth` files, layouts, namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.model.effects import EffectKind
from coldfork.source.files.site_packages import search_path
from tests.source.expectations import (
    Setting,
    assert_as_expected,
    cases,
    executed,
    expected,
    lay_out,
    observe,
    said,
    write,
)

WAKES = {
    "a dependency that wakes on import": """
### pkg/__init__.py
### pkg/user.py
import waking  # expect: waking-import
import harmless
### pkg/lazy.py
def start():
    import waking
### beside/waking/__init__.py
import torch
LEVEL = torch.cuda.get_device_capability()
### beside/harmless/__init__.py
import torch

def level():
    return torch.cuda.get_device_capability()
""",
    "a dependency that wakes deep inside": """
### pkg/__init__.py
### pkg/user.py
from waking.api import start  # expect: waking-import
### pkg/other.py
from waking.leaf import shape  # expect: waking-import
### beside/waking/__init__.py
from .api import start
### beside/waking/api.py
from .engine import Engine

start = Engine()
### beside/waking/engine.py
import torch

class Engine:
    def __init__(self):
        self.level = torch.cuda.get_device_capability()
### beside/waking/leaf.py
shape = 1
""",
    "a dependency's function that is called": """
### pkg/__init__.py
### pkg/user.py
import asking
from asking import level as ask
A = asking.level()  # expect: device-init-at-import
B = ask(eager=False)

class Backend(asking.Base):  # expect: device-init-at-import
    pass

@asking.register("kernel")  # expect: device-init-at-import
def kernel():
    pass
### beside/asking/__init__.py
import torch

def level(eager=True):
    if eager:
        return torch.cuda.get_device_capability()

class Base:
    def __init_subclass__(cls):
        torch.cuda.get_device_capability()

def register(name):
    def apply(function):
        torch.cuda.get_device_capability()
        return function
    return apply
""",
    "a dependency behind a gate": """
### pkg/__init__.py
### pkg/user.py
import os
if len(os.listdir(".")) > 1000000:
    import waking  # expect: waking-import conditional
### beside/waking.py
import torch
LEVEL = torch.cuda.get_device_capability()
""",
    "a dependency that is looked for first": """
### pkg/__init__.py
### pkg/a.py
import importlib.util
if importlib.util.find_spec("waking") is not None:
    import waking  # expect: waking-import
### pkg/b.py
try:
    import waking  # expect: waking-import
except ImportError:
    waking = None
### pkg/c.py
import importlib.util
if importlib.util.find_spec("there_is_no_such_module_anywhere") is not None:
    import there_is_no_such_module_anywhere
### beside/waking.py
import torch
LEVEL = torch.cuda.get_device_capability()
""",
    "a dependency with a guard of its own": """
### pkg/__init__.py
### pkg/user.py
import waking  # expect: waking-import conditional
### beside/waking.py
import os
import torch
if len(os.listdir(".")) > 1000000:
    LEVEL = torch.cuda.get_device_capability()
""",
    "a dependency that imports the checked code again": """
### pkg/__init__.py
### pkg/level.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
### pkg/user.py
import plugin  # expect: waking-import
### beside/plugin.py
import pkg.level
""",
    "entry points": """
### pkg/__init__.py
### pkg/plugins.py
from importlib.metadata import entry_points

LOADED = [point.load() for point in entry_points(group="pkg.plugins")]  # expect: waking-import
### pkg/call.py
from importlib.metadata import entry_points

for point in entry_points(group="pkg.callables"):
    point.load()()  # expect: device-init-at-import
### pkg/none.py
from importlib.metadata import entry_points

for point in entry_points(group="pkg.nothing"):
    point.load()()
### beside/waking.py
import torch
LEVEL = torch.cuda.get_device_capability()
### beside/calling.py
import torch

def start():
    torch.cuda.get_device_capability()
### beside/waking-1.0.dist-info/METADATA
Name: waking
Version: 1.0
### beside/waking-1.0.dist-info/entry_points.txt
[pkg.plugins]
warm = waking:LEVEL

[pkg.callables]
start = calling:start
""",
    "a .pth file mounts a folder": """
### pkg/__init__.py
### pkg/user.py
import mounted  # expect: waking-import
### beside/extra.pth
# a comment
import sys; sys.exit(7)
../elsewhere
./folder
./no-such-folder
### beside/folder/mounted.py
import torch
LEVEL = torch.cuda.get_device_capability()
""",
    "an editable install with a finder": """
### pkg/__init__.py
### pkg/user.py
import editable  # expect: waking-import
### beside/__editable___editable_1_0_finder.py
MAPPING: dict[str, str] = {"editable": "FOLDER/editable"}
### beside/project/src/editable/__init__.py
import torch
LEVEL = torch.cuda.get_device_capability()
""",
    "namespace packages": """
### space/one/__init__.py
import torch

def level():
    return torch.cuda.get_device_capability()
### space/two.py
from space.one import level
import space.one
A = level()  # expect: device-init-at-import
B = space.one.level()  # expect: device-init-at-import
""",
    "a namespace shared with the environment": """
### space/one/__init__.py
from space.other import level
A = level()  # expect: device-init-at-import
### beside/space/other.py
import torch

def level():
    return torch.cuda.get_device_capability()
""",
    "a folder without __init__ inside a package": """
### pkg/__init__.py
### pkg/inner/ask.py
import torch

def level():
    return torch.cuda.get_device_capability()
### pkg/user.py
from pkg.inner.ask import level
from .inner import ask
A = level()  # expect: device-init-at-import
B = ask.level()  # expect: device-init-at-import
""",
    "a src layout": """
### src/pkg/__init__.py
### src/pkg/ask.py
import torch

def level():
    return torch.cuda.get_device_capability()
### src/pkg/user.py
from pkg.ask import level
A = level()  # expect: device-init-at-import
### tests/test_user.py
import torch
from pkg.ask import level
A = level()  # expect: device-init-at-import
### setup.py
import torch
A = torch.cuda.is_available()  # expect: driver-init-at-import
""",
    "a monorepo": """
### libs/one/src/one/__init__.py
import torch

def level():
    return torch.cuda.get_device_capability()
### libs/two/two/__init__.py
import one
A = one.level()  # expect: device-init-at-import
### apps/three/three/__init__.py
from two import A  # expect: waking-import
from one import level
B = level()  # expect: device-init-at-import
""",
    "overlapping paths": """
### pkg/__init__.py
### pkg/ask.py
import torch

def level():
    return torch.cuda.get_device_capability()
### pkg/sub/__init__.py
### pkg/sub/user.py
from ..ask import level
A = level()  # expect: device-init-at-import
""",
    "a part of a package": """
### pkg/__init__.py
import torch

def level():
    return torch.cuda.get_device_capability()
### pkg/sub/__init__.py
### pkg/sub/user.py
from pkg import level
from . import friend
A = level()  # expect: device-init-at-import
### pkg/sub/friend.py
import pkg
B = pkg.level()  # expect: device-init-at-import
### pkg/other.py
import torch
C = torch.cuda.get_device_capability()
""",
    "a single file of a package": """
### pkg/__init__.py
### pkg/ask.py
import torch

def level():
    return torch.cuda.get_device_capability()

B = torch.cuda.is_available()
### pkg/user.py
from .ask import level  # expect: waking-import
A = level()  # expect: device-init-at-import
""",
    "scripts beside each other": """
### ask.py
import torch

def level():
    return torch.cuda.get_device_capability()
### run.py
from ask import level
A = level()  # expect: device-init-at-import
""",
    "stubs are not what runs": """
### pkg/__init__.py
### pkg/ask.py
import torch

def level():
    return torch.cuda.get_device_capability()
### pkg/ask.pyi
def level() -> int: ...
### pkg/user.py
from pkg.ask import level
A = level()  # expect: device-init-at-import
""",
    "a package that shadows the standard library": """
### pkg/__init__.py
### pkg/json/__init__.py
import torch

def loads(text):
    return torch.cuda.get_device_capability()
### pkg/a.py
import json
A = json.loads("1")
### pkg/b.py
from pkg import json
A = json.loads("1")  # expect: device-init-at-import
### pkg/c.py
from . import json
A = json.loads("1")  # expect: device-init-at-import
""",
    "a variable that the importing module set above": """
### pkg/__init__.py
### pkg/override.py
import os
import woken  # expect: waking-import
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
import woken.again
### pkg/user.py
from pkg import override
import woken.third
### beside/woken/__init__.py
import torch
torch.cuda.is_available()
### beside/woken/again.py
import torch
torch.cuda.is_available()
### beside/woken/third.py
import torch
torch.cuda.is_available()
""",
    "what an import above has woken already": """
### pkg/__init__.py
### pkg/user.py
import woken  # expect: waking-import
import through
### beside/woken.py
import torch
torch.cuda.is_available()
### beside/through.py
import woken
""",
    "a checked module wins over an installed one": """
### pkg/__init__.py
from .level import VALUE
### pkg/level.py
VALUE = 1
### beside/pkg/__init__.py
from .level import VALUE
### beside/pkg/level.py
import torch
VALUE = torch.cuda.get_device_capability()
""",
}

SETTINGS = {
    "a variable that the importing module set above": Setting(runs=False),
    "a src layout": Setting(mounts=("src", "tests", ".")),
    "a monorepo": Setting(mounts=("libs/one/src", "libs/two", "apps/three")),
    "overlapping paths": Setting(paths=("pkg/sub", ".", "pkg", "pkg/sub/user.py")),
    "a part of a package": Setting(paths=("pkg/sub",), runs=False),
    "a single file of a package": Setting(paths=("pkg/user.py",), runs=False),
    "a dependency with a guard of its own": Setting(runs=False),
    "a dependency behind a gate": Setting(runs=False),
}

#: These need the machinery that `site` or the metadata set up, which the bare interpreter lacks.
PREPARED = ("an editable install with a finder",)


@pytest.mark.parametrize(
    ("text", "setting"), cases({k: v for k, v in WAKES.items() if k not in PREPARED}, SETTINGS)
)
def test_what_stands_beside_is_read(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)


def test_an_editable_install_is_followed_to_its_sources(tmp_path: Path) -> None:
    text = WAKES["an editable install with a finder"].replace(
        "FOLDER", f"{tmp_path.as_posix()}/beside/project/src"
    )
    assert_as_expected(text, tmp_path)


def test_chains_lead_through_the_dependency(tmp_path: Path) -> None:
    findings = assert_as_expected(WAKES["a dependency that wakes deep inside"], tmp_path)
    (first,) = (one for one in findings if one.path == "pkg/user.py")
    assert [(step.path, step.line) for step in first.chain.steps] == [
        ("pkg/user.py", 1),
        ("waking/api.py", 3),
        ("waking/engine.py", 5),
        (None, None),
    ]


def test_without_the_environment_nothing_is_known_of_it(tmp_path: Path) -> None:
    files = lay_out(WAKES["a dependency that wakes on import"], tmp_path)
    assert expected(files)
    observation = observe([tmp_path / "tree"])
    assert observation.effects == ()


@pytest.mark.parametrize(
    ("profile", "sink", "kind"),
    [
        ("cuda", "torch.cuda.is_available()", EffectKind.INITIALISES_DRIVER),
        ("cuda", "torch.cuda.device_count()", EffectKind.QUERIES_DEVICE),
        ("cuda-without-nvml", "torch.cuda.device_count()", EffectKind.INITIALISES_DRIVER),
        ("rocm", "torch.cuda.get_device_capability()", EffectKind.CREATES_CONTEXT),
        ("xpu", "torch.cuda.get_device_capability()", None),
        ("cpu", "torch.cuda.get_device_capability()", None),
    ],
)
def test_the_profile_is_asked(profile: str, sink: str, kind: EffectKind | None, tmp_path: Path) -> None:
    lay_out(f"import torch\nVALUE = {sink}\n", tmp_path)
    observation = observe([tmp_path / "tree"], setting=Setting(profile=profile))
    assert [effect.kind for effect in observation.effects] == ([kind] if kind is not None else [])


def test_an_environment_variable_that_the_code_sets_first(tmp_path: Path) -> None:
    text = """
import os
os.environ["FAST"] = "1"
import torch
if os.environ.get("FAST") == "1":
    torch.cuda.get_device_capability()  # expect: device-init-at-import
"""
    assert_as_expected(text, tmp_path)


def test_an_interpreter_s_site_packages_are_found(tmp_path: Path) -> None:
    files = {
        "venv/bin/python": "",
        "venv/lib/python3.12/site-packages/waking.py": "import torch\nX = torch.cuda.synchronize()\n",
        "tree/user.py": "import waking  # expect: waking-import\n",
    }
    write(files, tmp_path)
    search = search_path(tmp_path / "venv/bin/python", ())
    assert [folder.name for folder in search] == ["site-packages"]
    observation = observe([tmp_path / "tree"], site_packages=search[0])
    (effect,) = observation.effects
    assert (effect.path, effect.line, effect.module) == ("user.py", 1, "user")


def test_the_recorder_tells_what_cpython_did(tmp_path: Path) -> None:
    """The oracle itself: lines in class bodies and comprehensions, through functions, and through imports."""
    text = """
### pkg/__init__.py
from .inner import VALUE
### pkg/inner.py
import torch

def ask():
    return torch.cuda.get_device_capability()

class Body:
    level = 1
    fast = [
        ask()
        for _ in range(2)
    ]

VALUE = ask()
"""
    lay_out(text, tmp_path)
    direct, through = executed(tmp_path)
    assert direct == {("pkg/inner.py", 9), ("pkg/inner.py", 13)}
    assert through == {("pkg/__init__.py", 1)}


def test_expectations_are_read_and_findings_told_the_same_way() -> None:
    files = {
        "src/pkg/a.py": "x  # expect: one-rule\ny  # expect: two-rule possible # expect: one-rule conditional"
    }
    assert [(one.line, one.rule, one.verdict) for one in expected(files)] == [
        (1, "one-rule", "certain"),
        (2, "one-rule", "conditional"),
        (2, "two-rule", "possible"),
    ]
    assert said((), files) == []


@pytest.mark.parametrize(("distribution", "found"), [("other", 1), ("coldfork", 0)])
def test_our_own_entry_points_change_no_answer(distribution: str, found: int, tmp_path: Path) -> None:
    loading = "for point in entry_points(group='pkg.callables'):\n    point.load()()\n"
    declared = "[pkg.callables]\nstart = calling:start\n"
    write(
        {
            "tree/pkg/__init__.py": "",
            "tree/pkg/call.py": f"from importlib.metadata import entry_points\n{loading}",
            "beside/calling.py": "import torch\ndef start():\n    torch.cuda.get_device_capability()\n",
            f"beside/{distribution}-1.0.dist-info/entry_points.txt": declared,
        },
        tmp_path,
    )
    seen = observe([tmp_path / "tree"], site_packages=tmp_path / "beside")
    assert len(seen.effects) == found
