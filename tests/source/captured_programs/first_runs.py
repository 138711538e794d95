"""Programs in which captured code initialises something on its first run, and binds names in all the ways."""

from __future__ import annotations

#: `run(y)` is captured, and `y` is a tensor on the GPU.
FIRST_RUNS = {
    "names that are swapped": """
def step(y, first=True, second=False, third=None):
    if not first:
        y.sum().item()
    if second:
        y.sum().item()
    if third is not None:
        y.sum().item()

def run(y):
    a, b = True, False
    a, b = b, a
    step(y, a, b)
""",
    "names in brackets": """
def step(y, first=True, second=False, third=None):
    if not first:
        y.sum().item()
    if second:
        y.sum().item()
    if third is not None:
        y.sum().item()

def run(y):
    [a, (b, c)] = [True, (True, None)]
    step(y, a, b, c)
""",
    "a name that is given twice": """
def step(y, first=True, second=False, third=None):
    if not first:
        y.sum().item()
    if second:
        y.sum().item()
    if third is not None:
        y.sum().item()

def run(y):
    a = b = False
    step(y, a, b)
""",
    "a name that is deleted": """
def step(y, first=True, second=False, third=None):
    if not first:
        y.sum().item()
    if second:
        y.sum().item()
    if third is not None:
        y.sum().item()

def run(y):
    a = True
    del a
    step(y)
""",
    "a walrus": """
def step(y, first=True, second=False, third=None):
    if not first:
        y.sum().item()
    if second:
        y.sum().item()
    if third is not None:
        y.sum().item()

def run(y):
    if (a := False) is False:
        step(y, a)
""",
    "either way": """
def step(y, first=True, second=False, third=None):
    if not first:
        y.sum().item()
    if second:
        y.sum().item()
    if third is not None:
        y.sum().item()

def run(y):
    a = True if y is not None else False
    step(y, a)
""",
    "a module-level flag that is set by global": """
flag = True
def change():
    global flag
    flag = False
def run(y):
    change()
    if not flag:
        y.sum().item()
""",
    "a name of a class": """
class Options:
    flag = False
    other = True
def run(y):
    if not Options.flag:
        y.sum().item()
    if not Options.other:
        y.sum().item()
""",
    "a condition of two tests": """
A, B = True, False
def run(y):
    if A and B:
        y.sum().item()
    elif A or B:
        y.item()
    else:
        y.sum().item()
""",
    "an assert": """
def run(y):
    assert y.item()
""",
    "a return in a loop": """
def step(y):
    for flag in (True, False):
        if flag:
            return y
        y.item()
def run(y):
    step(y)
""",
    "a first run that fills a table": """
table = {}
def run(y):
    if "a" not in table:
        y.item()
        table["a"] = 1
    y.sum().item()
""",
    "a first run behind an early return": """
class Engine:
    ready = False
    def prepare(self, y):
        if self.ready:
            return
        y.item()
        self.ready = True
engine = Engine()
def run(y):
    engine.prepare(y)
    y.sum().item()
""",
    "what a later run does": """
class Engine:
    def __init__(self):
        self.plan = None
    def step(self, y):
        if self.plan is None:
            self.plan = 1
        else:
            y.item()
engine = Engine()
def run(y):
    engine.step(y)
""",
    "what a later run leaves by": """
class Engine:
    def __init__(self):
        self.plan = None
    def step(self, y):
        if self.plan is None:
            self.plan = 1
        else:
            return y
        y.item()
engine = Engine()
def run(y):
    engine.step(y)
""",
    "a flag that was set at the start": """
class Engine:
    def __init__(self):
        self.plan = 2
    def step(self, y):
        if self.plan is None:
            y.item()
            self.plan = 1
        else:
            return y
        y.item()
engine = Engine()
def run(y):
    engine.step(y)
""",
    "a flag of the class": """
class Engine:
    plan = None
    @classmethod
    def step(cls, y):
        if cls.plan is None:
            cls.plan = 1
            return y
        y.item()
def run(y):
    Engine.step(y)
""",
    "a flag of the class by its name": """
class Engine:
    plan = None
def step(y):
    if Engine.plan is None:
        Engine.plan = 1
        return y
    y.item()
def run(y):
    step(y)
""",
    "a flag that is asked for by name": """
class Engine:
    plan = None
    def step(self, y):
        if getattr(self, "plan", None) is None:
            self.plan = 1
            return y
        y.item()
engine = Engine()
def run(y):
    engine.step(y)
""",
    "a flag that is missing at first": """
class Engine:
    def step(self, y):
        if not hasattr(self, "plan"):
            self.plan = 1
            return y
        y.item()
engine = Engine()
def run(y):
    engine.step(y)
""",
    "a table that is asked": """
table = {}
def run(y):
    if table.get("a") is None:
        table["a"] = 1
        return y
    y.item()
""",
    "a flag behind is not": """
class Engine:
    plan = None
    def step(self, y):
        if self.plan is not None:
            return y.item()
        self.plan = 1
engine = Engine()
def run(y):
    engine.step(y)
""",
    "a flag behind !=": """
class Engine:
    plan = None
    def step(self, y):
        if self.plan != None:
            return y.item()
        self.plan = 1
engine = Engine()
def run(y):
    engine.step(y)
""",
    "a flag that is set through setattr": """
class Engine:
    plan = None
    def step(self, y):
        if self.plan is None:
            setattr(self, "plan", 1)
            return y
        y.item()
engine = Engine()
def run(y):
    engine.step(y)
""",
    "a flag that a method sets": """
class Engine:
    plan = None
    def prepare(self, y):
        self.plan = 1
    def step(self, y):
        if self.plan is None:
            self.prepare(y)
            return y
        y.item()
engine = Engine()
def run(y):
    engine.step(y)
""",
    "a second run that leaves": """
class Engine:
    plan = None
    def step(self, y):
        if self.plan is None:
            self.plan = 1
        else:
            return y
        y.sum().item()
engine = Engine()
def run(y):
    engine.step(y)
    engine.step(y)
    y.item()
""",
    "a flag that is set and asked again in the capture": """
class Engine:
    def __init__(self):
        self.plan = None
    def step(self, y):
        if self.plan is None:
            self.plan = 1
            y.item()
        else:
            y.sum().item()
def run(y):
    engine = Engine()
    engine.step(y)
    engine.step(y)
""",
    "a set one that leaves": """
class Engine:
    def __init__(self):
        self.plan = None
    def step(self, y):
        if self.plan is None:
            self.plan = 1
            y.item()
        else:
            return
        y.sum().item()
def run(y):
    engine = Engine()
    engine.step(y)
    engine.step(y)
    y.item()
""",
    "a given one that leaves": """
class Engine:
    def __init__(self):
        self.plan = 3
    def step(self, y):
        if self.plan is None:
            self.plan = 1
        else:
            return
        y.sum().item()
def run(y):
    engine = Engine()
    engine.step(y)
""",
    "a dictionary by its length": """
def run(y):
    table = {}
    if len(table) == 0:
        y.item()
    if len([1]) == 0:
        y.sum().item()
""",
}
