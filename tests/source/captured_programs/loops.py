"""Programs in which captured code goes round in loops."""

from __future__ import annotations

#: `run(y)` is captured, and `y` is a tensor on the GPU.
LOOPS = {
    "a loop that reads in its second turn": """
def run(y):
    for flag in (False, True):
        if flag:
            y.sum().item()
""",
    "a loop that reads in its eighth turn": """
def run(y):
    for flag in (False, False, False, False, False, False, False, True):
        if flag:
            y.sum().item()
""",
    "a loop that never reads": """
def run(y):
    for flag in (False, False):
        if flag:
            y.sum().item()
""",
    "a loop that goes on": """
def run(y):
    for flag in (False, True):
        if not flag:
            continue
        y.sum().item()
""",
    "a loop over nothing": """
def run(y):
    for flag in ():
        y.sum().item()
""",
    "a loop over reversed flags": """
def step(first, second, y):
    if second:
        return y.sum().item()
    return y

def run(y):
    for flag in (True, False):
        if flag:
            break
    else:
        return
    step(False, flag, y)
""",
}
