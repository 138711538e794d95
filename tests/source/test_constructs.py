"""The code that an import executes, and the code it does not: bodies, decorators, defaults, annotations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import RUNNING, Setting, assert_as_expected, cases

WAKES = {
    "a call in the module body": """
import torch
torch.cuda.get_device_capability()  # expect: device-init-at-import
NAME = "cuda" if torch.cuda.is_available() else "cpu"  # expect: driver-init-at-import
COUNT = torch.cuda.device_count()  # expect: device-query-at-import conditional
""",
    "two statements on one line": """
import torch; LEVEL = torch.cuda.get_device_capability(); NAME = 1  # expect: device-init-at-import
""",
    "a function called later than it is defined": """
import torch

def level():
    return torch.cuda.get_device_capability()

LEVEL = level()  # expect: device-init-at-import
""",
    "a chain of functions": """
import torch

def inner():
    return torch.cuda.get_device_capability()

def middle(a):
    return inner()

def outer(a, *, b=None):
    result = middle(a)
    return result

LEVEL = outer(1, b=2)  # expect: device-init-at-import
""",
    "a class body": """
import torch

class Backend:
    first = 1
    level = torch.cuda.get_device_capability()  # expect: device-init-at-import

    def lazily(self):
        return torch.cuda.get_device_capability()
""",
    "an if in a class body": """
import torch

def fast():
    return torch.cuda.get_device_capability()[0] >= 9

class Backend:
    if fast():  # expect: device-init-at-import
        level = 1
    else:
        level = 2
""",
    "a conditional expression in a class body": """
import torch

class Backend:
    level = (
        1
        if torch.cuda.get_device_capability() > (8, 0)  # expect: device-init-at-import
        else 2
    )
""",
    "a class inside a class": """
import torch

class Outer:
    class Inner:
        level = torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a class that a called function defines": """
import torch

def make():
    class Inner:
        level = torch.cuda.get_device_capability()
    return Inner

Made = make()  # expect: device-init-at-import
""",
    "a decorator that wakes when it is applied": """
import torch

def register(function):
    torch.cuda.get_device_capability()
    return function

@register  # expect: device-init-at-import
def kernel():
    pass
""",
    "a decorator factory that wakes when it is called": """
import torch

def register(name):
    torch.cuda.get_device_capability()
    def apply(function):
        return function
    return apply

@register("kernel")  # expect: device-init-at-import
def kernel():
    pass
""",
    "the decorator that a factory returns wakes": """
import torch

def register(name):
    def apply(function):
        torch.cuda.get_device_capability()
        return function
    return apply

@register("kernel")  # expect: device-init-at-import
def kernel():
    pass
""",
    "the argument of a decorator": """
import torch

def register(level):
    return lambda function: function

@register(torch.cuda.get_device_capability())  # expect: device-init-at-import
def kernel():
    pass
""",
    "a decorator that calls what it decorates": """
import torch

def once(function):
    answer = function()
    return lambda: answer

@once  # expect: device-init-at-import
def level():
    return torch.cuda.get_device_capability()
""",
    "a class as decorator": """
import torch

class Register:
    def __init__(self, function):
        self.level = torch.cuda.get_device_capability()

@Register  # expect: device-init-at-import
def kernel():
    pass
""",
    "an instance as decorator": """
import torch

class Registry:
    def __call__(self, function):
        torch.cuda.get_device_capability()
        return function

registry = Registry()

@registry  # expect: device-init-at-import
def kernel():
    pass
""",
    "a method as decorator": """
import torch

class Registry:
    def register(self, name):
        def apply(function):
            torch.cuda.get_device_capability()
            return function
        return apply

registry = Registry()

@registry.register("kernel")  # expect: device-init-at-import
def kernel():
    pass
""",
    "a decorator of a class": """
import torch

def register(cls):
    cls.level = torch.cuda.get_device_capability()
    return cls

@register  # expect: device-init-at-import
class Backend:
    pass
""",
    "a decorator of a method": """
import torch

def register(function):
    torch.cuda.get_device_capability()
    return function

class Backend:
    @register  # expect: device-init-at-import
    def kernel(self):
        pass
""",
    "a stack of decorators": """
import torch

def plain(function):
    return function

def waking(function):
    torch.cuda.get_device_capability()
    return function

@plain
@waking  # expect: device-init-at-import
@plain
def kernel():
    pass
""",
    "the wrapper of a decorator is called at import": """
import functools
import torch

def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

@logged
def level():
    return torch.cuda.get_device_capability()

LEVEL = level()  # expect: device-init-at-import
""",
    "a default argument": """
import torch

def kernel(
    name,
    level=torch.cuda.get_device_capability(),  # expect: device-init-at-import
    *,
    fast=torch.cuda.is_available(),  # expect: driver-init-at-import
):
    return level
""",
    "a default argument of a method": """
import torch

class Backend:
    def kernel(self, level=torch.cuda.get_device_capability()):  # expect: device-init-at-import
        return level
""",
    "a default argument of a lambda": """
import torch
kernel = lambda level=torch.cuda.get_device_capability(): level  # expect: device-init-at-import
""",
    "a default argument of an async function": """
import torch

async def kernel(level=torch.cuda.get_device_capability()):  # expect: device-init-at-import
    return level
""",
    "a default argument of a function inside a called function": """
import torch

def make():
    def kernel(level=torch.cuda.get_device_capability()):
        return level
    return kernel

kernel = make()  # expect: device-init-at-import
""",
    "comprehensions": """
import torch
LEVELS = [torch.cuda.get_device_capability(i) for i in (0, 1)]  # expect: device-init-at-import
NAMES = {i: torch.cuda.get_device_name(i) for i in range(2)}  # expect: device-init-at-import
KINDS = {torch.cuda.get_device_name(i) for i in range(2)}  # expect: device-init-at-import
""",
    "the condition of a comprehension": """
import torch
LEVELS = [i for i in (1, 2) if torch.cuda.get_device_capability()]  # expect: device-init-at-import
""",
    "the source of a comprehension": """
import torch
LEVELS = [i for i in torch.cuda.get_device_capability()]  # expect: device-init-at-import
""",
    "a generator that is consumed": """
import torch
LEVELS = list(torch.cuda.get_device_capability(i) for i in (0, 1))  # expect: device-init-at-import
ANY = any(torch.cuda.get_device_capability(i) for i in (0, 1))  # expect: device-init-at-import
TEXT = ",".join(torch.cuda.get_device_capability(i) or "" for i in ())
""",
    "a comprehension in a class body": """
import torch

class Backend:
    levels = [torch.cuda.get_device_capability(i) for i in (0, 1)]  # expect: device-init-at-import
""",
    "an f-string": """
import torch
TEXT = f"level {torch.cuda.get_device_capability()}"  # expect: device-init-at-import
""",
    "an assert": """
import torch
assert torch.cuda.is_available(), "no device"  # expect: driver-init-at-import
""",
    "a del, a subscript and a starred call": """
import torch

def items():
    torch.cuda.get_device_capability()
    return (1, 2)

def take(*args):
    return args

TABLE = {1: 2}
TAKEN = take(*items())  # expect: device-init-at-import
HELD = TABLE[items()[0]]  # expect: device-init-at-import
del TABLE[items()[0]]  # expect: device-init-at-import
""",
    "a walrus": """
import torch
if (level := torch.cuda.get_device_capability()) > (8, 0):  # expect: device-init-at-import
    pass
""",
    "a call over several lines": """
import torch

def level(a, b):
    return torch.cuda.get_device_capability()

LEVEL = level(  # expect: device-init-at-import
    1,
    2,
)
""",
    "the main guard is not taken": """
import torch

def main():
    torch.cuda.get_device_capability()

if __name__ == "__main__":
    main()
""",
}

SILENT = {
    "functions that nobody calls": """
import torch

def level():
    return torch.cuda.get_device_capability()

async def later():
    return torch.cuda.is_available()

def numbers():
    yield torch.cuda.device_count()

class Backend:
    def level(self):
        return torch.cuda.get_device_capability()

    @property
    def fast(self):
        return torch.cuda.is_available()

    @staticmethod
    def count():
        return torch.cuda.device_count()
""",
    "lambdas that nobody calls": """
import torch
level = lambda: torch.cuda.get_device_capability()
TABLE = {"level": lambda: torch.cuda.get_device_capability(), "fast": lambda x=1: torch.cuda.is_available()}
""",
    "the wrapper that a decorator returns": """
import functools
import torch

def checked(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        torch.cuda.get_device_capability()
        return function(*args, **kwargs)
    return wrapper

@checked
def kernel():
    return 1

class Backend:
    @checked
    def kernel(self):
        return 1
""",
    "the wrapper behind a factory": """
import torch

def checked(name):
    def apply(function):
        def wrapper(*args, **kwargs):
            torch.cuda.get_device_capability()
            return function(*args, **kwargs)
        return wrapper
    return apply

@checked("kernel")
def kernel():
    return 1
""",
    "memoised functions": """
import functools
import torch

@functools.cache
def level():
    return torch.cuda.get_device_capability()

@functools.lru_cache(maxsize=None)
def fast():
    return torch.cuda.is_available()

@functools.lru_cache
def count():
    return torch.cuda.device_count()
""",
    "a generator expression that nobody consumes": """
import torch
LEVELS = (torch.cuda.get_device_capability(i) for i in (0, 1))
""",
    "a generator and a coroutine that nobody runs": """
import torch

def levels():
    yield torch.cuda.get_device_capability()

async def level():
    return torch.cuda.get_device_capability()

LATER = levels()
COROUTINE = level()
COROUTINE.close()
""",
    "a class inside a function that nobody calls": """
import torch

def make():
    class Inner:
        level = torch.cuda.get_device_capability()
    return Inner
""",
    "a decorator, default and comprehension inside a function that nobody calls": """
import torch

def waking(function):
    torch.cuda.get_device_capability()
    return function

def make():
    @waking
    def kernel(level=torch.cuda.get_device_capability()):
        return [torch.cuda.get_device_capability(i) for i in range(3)]
    return kernel
""",
    "an empty loop": """
import torch
for i in ():
    torch.cuda.get_device_capability()
LEVELS = [torch.cuda.get_device_capability(i) for i in []]
while False:
    torch.cuda.get_device_capability()
""",
    "strings and comments": '''
"""torch.cuda.get_device_capability()"""
import torch
TEXT = "torch.cuda.get_device_capability()"  # torch.cuda.is_available()
''',
    "harmless questions": """
import torch
AWAKE = torch.cuda.is_initialized()
VERSION = torch.version.cuda
CHECK = torch.cuda.is_available
""",
}

ANNOTATED = """
import torch

def kernel(level: torch.cuda.get_device_capability()) -> torch.cuda.is_available(): ...{both}
count: torch.cuda.get_device_name() = 1{one}

class Backend:
    level: torch.cuda.get_device_capability(){one}

    def kernel(self, level: torch.cuda.get_device_capability()): ...{one}

def only(level: torch.cuda.get_device_capability(), /): ...{one}
def rest(*levels: torch.cuda.get_device_capability()): ...{one}
def options(**levels: torch.cuda.get_device_capability()): ...{one}
def named(*, level: torch.cuda.get_device_capability()): ...{one}
def given() -> torch.cuda.get_device_capability(): ...{one}
def plain(level: torch, *levels, **options: 1) -> None: ...

def later():
    level: torch.cuda.get_device_capability() = 1
    return level

later()
"""
EXPECT = "  # expect: device-init-at-import"
EVALUATED = ANNOTATED.format(both=EXPECT, one=EXPECT)
SKIPPED = ANNOTATED.format(both="", one="")


@pytest.mark.parametrize(("text", "setting"), cases(WAKES))
def test_what_an_import_executes_is_found(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)


@pytest.mark.parametrize(("text", "setting"), cases(SILENT))
def test_what_no_import_executes_is_not(text: str, setting: Setting, tmp_path: Path) -> None:
    assert "expect" not in text
    assert_as_expected(text, tmp_path, setting)


def test_annotations_run_up_to_python_3_13(tmp_path: Path) -> None:
    assert_as_expected(EVALUATED, tmp_path, Setting(target_version=(3, 13), runs=RUNNING < (3, 14)))


def test_annotations_wait_from_python_3_14_on(tmp_path: Path) -> None:
    assert_as_expected(SKIPPED, tmp_path, Setting(target_version=(3, 14), runs=RUNNING >= (3, 14)))


def test_postponed_annotations_never_run(tmp_path: Path) -> None:
    text = f"from __future__ import annotations\n{SKIPPED}"
    assert_as_expected(text, tmp_path, Setting(target_version=(3, 11)))
    text = f"from __future__ import (\n    division,\n    annotations,\n)\n{SKIPPED}"
    assert_as_expected(text, tmp_path, Setting(target_version=(3, 11)))


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("import torch\nX = torch.cuda.get_device_capability()\n", "module"),
        ("import torch\nclass A:\n    x = torch.cuda.get_device_capability()\n", "class-body"),
        ("import torch\ndef f(x=torch.cuda.get_device_capability()): ...\n", "default-argument"),
        ("import torch\n@torch.cuda.get_device_capability()\ndef f(): ...\n", "decorator"),
        ("import torch\nX = [torch.cuda.get_device_capability() for _ in 'a']\n", "comprehension"),
        ("import torch\ndef f(x: torch.cuda.get_device_capability()): ...\n", "annotation"),
        ("import torch\nclass A(torch.cuda.get_device_capability()): ...\n", "base-class"),
    ],
)
def test_the_position_is_told(text: str, position: str, tmp_path: Path) -> None:
    lines = text.splitlines()
    (number,) = (index for index, line in enumerate(lines) if "capability" in line)
    lines[number] += "  # expect: device-init-at-import"
    setting = Setting(target_version=(3, 13), runs=position != "annotation")
    (finding,) = assert_as_expected("\n".join(lines) + "\n", tmp_path, setting)
    assert finding.position == position
