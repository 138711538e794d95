"""Programs in which captured code asks a tensor for its truth, or reads it on the way to something else."""

from __future__ import annotations

_STATEMENTS = [
    "not y", "if y: pass", "if not y: pass", "if y and 1: pass", "if 0 or y: pass", "if 1 or y: pass",
    "while y: break", "while not y: pass", "assert y", "assert not not y", "assert 1 or y", "1 if y else 2",
    "y and 1", "y or 1", "1 and y", "0 and y", "[1 for z in (1,) if y]", "y is None",
    "y is not None", "bool(y)", "x = y", "x = not y", "return not y", "{y.item(): 1}", "{1: y.item()}",
    "{**{y.item(): 1}}", "x = {1: 2}; x[y.item()] = 2", "x = {1: 2}; x[y.item()] += 1",
    "x = {1: 2}; del x[y.item()]", "x = {1: 2}; del x[1]", "x = y; del x", "x = [1, 2]; del x[y.item():]",
    "x = [0]; x[y.item() - 1] += 1", "del thing(y.item()).a", "thing(y.item()).a += 1",
    "match 1:\n        case 1 if y: pass", "match 1:\n        case 2 if y: pass",
    "try: raise ValueError(y.item())\n    except ValueError: pass",
    "try: raise ValueError from thing(y.item())\n    except ValueError: pass",
    "try: raise ValueError from None\n    except ValueError: pass",
    "try: raise ValueError\n    except ValueError: pass",
]  # fmt: skip

#: `run(y)` is captured, and `y` is a tensor on the GPU.
TRUTHS = {
    statement: f"""
class Thing(Exception):
    a = 1

def thing(number):
    made = Thing()
    made.a = number
    return made

def run(y):
    {statement}
"""
    for statement in _STATEMENTS
}
