"""Programs in which captured code hands arguments over."""

from __future__ import annotations

#: `run(y)` is captured, and `y` is a tensor on the GPU.
ARGUMENTS = {
    "a flag, plain": """
def step(flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(False, y)
""",
    "a star": """
def step(flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(*(False, y))
""",
    "a star of a name": """
def step(flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    args = (False, y)
    step(*args)
""",
    "a star whose flag says no": """
def step(flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    args = (True, y)
    step(*args)
""",
    "a star of a method": """
class Model:
    def step(self, flag, y):
        if not flag:
            return y.sum().item()
        return y

def run(y):
    Model().step(*[False, y])
""",
    "a star in the middle": """
def step(first, flag, y, last):
    if flag and not last:
        return y.sum().item()
    return y

def run(y):
    step(1, *(True, y), False)
""",
    "a star in the middle that shifts what follows": """
def step(first, second, flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(False, *(False,), True, y)
""",
    "two stars": """
def step(first, second, y, flag):
    if flag:
        return y.sum().item()
    return y

def run(y):
    step(*(False, False), *(y, True))
""",
    "an empty star": """
def step(y, flag=True):
    if flag:
        return y.sum().item()
    return y

def run(y):
    step(y, *())
""",
    "a double star": """
def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **{"flag": False})
""",
    "a double star of a name": """
def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    options = {"flag": False}
    step(y, **options)
""",
    "a double star that says what the default says": """
def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **{"flag": True})
""",
    "a double star that turns a default off": """
def step(y, flag=True):
    if flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **{"flag": False})
""",
    "an empty double star": """
def step(y, flag=True):
    if flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **{})
""",
    "a double star beside positional arguments": """
def step(first, y, *, flag=False, other=True):
    if first and flag and not other:
        return y.sum().item()
    return y

def run(y):
    step(True, y, **{"other": False}, flag=True)
""",
    "a double star that fills positional parameters": """
def step(first, y, flag):
    if first and not flag:
        return y.sum().item()
    return y

def run(y):
    step(True, **{"flag": False, "y": y})
""",
    "a star and a double star": """
def step(first, y, flag=True):
    if not first and not flag:
        return y.sum().item()
    return y

def run(y):
    step(*(False, y), **{"flag": False})
""",
    "what stars collect": """
def step(*args, **options):
    if not args[0] and options["flag"]:
        return args[1].sum().item()
    return None

def run(y):
    step(False, y, flag=True)
""",
    "what stars collect and hand on": """
def inner(flag, y, *, other=False):
    if not flag and other:
        return y.sum().item()
    return y

def step(*args, **options):
    return inner(*args, **options)

def run(y):
    step(False, y, other=True)
""",
    "what stars collect and hand on, with a flag that says no": """
def inner(flag, y, *, other=False):
    if not flag and other:
        return y.sum().item()
    return y

def step(*args, **options):
    return inner(*args, **options)

def run(y):
    step(True, y, other=True)
""",
    "a constructor with stars": """
class Model:
    def __init__(self, eager, other=True):
        self.eager = eager
        self.other = other

    def forward(self, y):
        if self.eager and not self.other:
            return y.sum().item()
        return y

def run(y):
    Model(*(True,), **{"other": False}).forward(y)
""",
    "keyword-only arguments": """
def step(y, *, flag, other=True):
    if flag and other:
        return y.sum().item()
    return y

def run(y):
    step(y, flag=True)
    step(y, flag=False)
""",
    "a positional-only parameter whose name is a keyword too": """
def step(flag, y, /, **options):
    if options["flag"] and not flag:
        return y.sum().item()
    return y

def run(y):
    step(False, y, flag=True)
""",
    "a positional-only parameter that keeps its default": """
def step(y, flag=False, /, **options):
    if flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **{"flag": True})
""",
    "a default": """
def step(y, flag=False, other=True):
    if other and not flag:
        return y.sum().item()
    return y

def run(y):
    step(y)
""",
    "a star in the middle that collects": """
def step(first, *rest, last):
    if rest[1] and not last:
        return rest[0].sum().item()
    return first

def run(y):
    step(1, *(y, True), last=False)
""",
    "a star behind a named parameter": """
def step(flag, y, *rest):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(False, *(y, True, True))
""",
    "a list that grows": """
def step(*flags, y):
    if len(flags) == 3:
        return y
    return y

def inner(y, first, second=False):
    if second:
        return y.sum().item()
    return y

def run(y):
    flags = [y, True]
    flags.append(True)
    inner(*flags)
""",
    "a dictionary that is filled": """
def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    options = {}
    options["flag"] = False
    step(y, **options)
""",
    "a dictionary made by dict": """
def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **dict(flag=False))
""",
    "a dictionary out of two": """
def step(y, flag=True, other=True):
    if not flag and other:
        return y.sum().item()
    return y

def run(y):
    options = {"flag": False}
    step(y, **{**options, "other": True})
""",
    "a tuple out of two": """
def step(flag, other, y):
    if not flag and other:
        return y.sum().item()
    return y

def run(y):
    args = (False, True)
    step(*(*args, y))
""",
    "what stars collect, empty": """
def step(y, *rest, **options):
    if not rest:
        return y.sum().item()
    return y

def run(y):
    step(y)
""",
    "what stars collect, asked with get": """
def step(y, **options):
    if options.get("flag", True):
        return y.sum().item()
    return y

def run(y):
    step(y)
    step(y, flag=False)
""",
    "a partial function": """
from functools import partial

def step(flag, y, other=False):
    if not flag and other:
        return y.sum().item()
    return y

def run(y):
    partial(step, False, other=True)(y)
""",
    "a partial function whose keyword is given again": """
from functools import partial

def step(y, flag=False):
    if flag:
        return y.sum().item()
    return y

def run(y):
    partial(step, flag=True)(y, flag=False)
""",
    "arguments handed on through a method": """
class Model:
    def step(self, flag, y, *, other=True):
        if not flag and not other:
            return y.sum().item()
        return y

    def forward(self, *args, **options):
        return self.step(*args, **options)

def run(y):
    Model().forward(False, y, other=False)
""",
    "a lambda with stars": """
def step(flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    call = lambda *args, **options: step(*args, **options)
    call(False, y=y)
""",
    "a nested function with a default": """
def run(y):
    def step(flag=False):
        if not flag:
            return y.sum().item()
        return y
    step(*())
    step(*(True,))
""",
}
