"""Programs in which captured code has functions, classes and loops inside, and what they leave behind."""

from __future__ import annotations

#: `run(y)` is captured, and `y` is a tensor on the GPU.
NESTED = {
    "a name of the function around that is set": """
def run(y):
    read = False
    def turn():
        nonlocal read
        read = True
    turn()
    if read:
        y.sum().item()
""",
    "a name of the function around that is unset": """
def run(y):
    read = True
    def turn():
        nonlocal read
        read = False
    turn()
    if read:
        y.sum().item()
""",
    "an attribute that counts": """
class Counter:
    def __init__(self):
        self.count = 0
    def step(self):
        self.count += 1

def run(y):
    counter = Counter()
    counter.step()
    counter.step()
    if counter.count == 2:
        y.sum().item()
    if counter.count == 0:
        y.sum().item()
""",
    "a number that counts": """
def run(y):
    count = 1
    count += 1
    if count == 2:
        y.sum().item()
    if count == 1:
        y.sum().item()
""",
    "a default of a function inside": """
def run(y):
    def inner(count=y.sum().item()):
        return count
    return y
""",
    "a default of a lambda": """
def run(y):
    inner = lambda count=y.sum().item(): count
    return y
""",
    "a decorator of a function inside": """
def keep(number):
    return lambda function: function

def run(y):
    @keep(y.sum().item())
    def inner():
        return y
    return y
""",
    "the body of a class inside": """
def run(y):
    class Inner:
        count = y.sum().item()
    return y
""",
    "the bases of a class inside": """
def chosen(number):
    return object

def run(y):
    class Inner(chosen(y.sum().item())):
        pass
    return y
""",
    "the body of a method that nobody calls": """
def run(y):
    class Inner:
        def read(self):
            return y.sum().item()
    return y
""",
    "a chain of comparisons": """
def run(y):
    inside = 0 < y < 3
    return y
""",
    "a list of nothing": """
def run(y):
    return [y.sum().item() for one in ()]
""",
    "a list of what a test lets through": """
def run(y):
    return [y.sum().item() for one in (1, 2) if one > 2]
""",
    "the else of a loop that is left": """
def run(y):
    for one in (1, 2):
        break
    else:
        y.sum().item()
    return y
""",
    "the else of a loop that comes to its end": """
def run(y):
    for one in (1, 2):
        pass
    else:
        y.sum().item()
    return y
""",
    "what is behind a loop that is left": """
def run(y):
    for one in (1, 2):
        break
    y.sum().item()
    return y
""",
    "what is behind a loop that returns": """
def run(y):
    for one in (1, 2):
        return y
    y.sum().item()
""",
    "what is behind a loop that returns in its second turn": """
def run(y):
    for one in (1, 2):
        if one == 2:
            return y
    y.sum().item()
""",
    "what is behind a loop without an end": """
def run(y):
    while True:
        return y
    y.sum().item()
""",
    "what is behind a loop that is left without an end": """
def run(y):
    while True:
        break
    else:
        return y
    y.sum().item()
    return y
""",
    "what a star leaves before it": """
def run(y):
    *rest, last = (False, True)
    if last:
        y.sum().item()
    if rest[0]:
        y.sum().item()
    return y
""",
    "what a star leaves behind it": """
def run(y):
    first, *rest = (True, False)
    for one in rest:
        if one:
            y.sum().item()
    if first:
        y.sum().item()
    return y
""",
    "a star in the middle": """
def run(y):
    first, *rest, last = [1, 2, 3, 4]
    if len(rest) == 2 and last == 4:
        y.sum().item()
    return y
""",
}
