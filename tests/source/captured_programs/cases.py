"""Programs in which captured code takes one of several cases."""

from __future__ import annotations

#: `run(y)` is captured, and `y` is a tensor on the GPU.
CASES = {
    "a case that matches": """
def step(y, mode):
    match mode:
        case "a":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "the wildcard after a case that matches": """
def step(y, mode):
    match mode:
        case "a":
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "a")
""",
    "the wildcard after a case that does not match": """
def step(y, mode):
    match mode:
        case "a":
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "b")
""",
    "what follows a match without a matching case": """
def step(y, mode):
    match mode:
        case "a":
            return y
        case "b":
            return y * 2
    return y.sum().item()

def run(y):
    step(y, "c")
""",
    "a guard that reads": """
def step(y, mode):
    match mode:
        case "a" if y.sum().item() > 0:
            return y
        case _:
            return y * 2

def run(y):
    step(y, "a")
""",
    "a guard that reads, of a case that does not match": """
def step(y, mode):
    match mode:
        case "a" if y.sum().item() > 0:
            return y
        case _:
            return y * 2

def run(y):
    step(y, "b")
""",
    "a guard that reads, behind a case that matches": """
def step(y, mode):
    match mode:
        case "a":
            return y
        case _ if y.sum().item() > 0:
            return y * 2

def run(y):
    step(y, "a")
""",
    "a guard that is false": """
def step(y, mode):
    match mode:
        case "a" if False:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "the wildcard behind a guard that is false": """
def step(y, mode):
    match mode:
        case "a" if False:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "a")
""",
    "a guard that is true": """
def step(y, mode):
    match mode:
        case "a" if True:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "the wildcard behind a guard that is true": """
def step(y, mode):
    match mode:
        case "a" if True:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "a")
""",
    "a guard on another argument": """
def step(y, mode, flag):
    match mode:
        case "a" if flag:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "a", True)
""",
    "a guard that reads the name captured by its case": """
def step(y, mode):
    match mode:
        case flag if flag:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, True)
""",
    "an irrefutable case with a guard that is false": """
def step(y, mode):
    match mode:
        case other if False:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "a")
""",
    "an irrefutable case with a guard, the tensor itself": """
def step(mode):
    match mode:
        case tensor if tensor.sum().item() > 0:
            return tensor
        case _:
            return None

def run(y):
    step(y)
""",
    "a case that captures what it matches": """
def step(mode):
    match mode:
        case "a":
            return mode
        case tensor:
            return tensor.sum().item()

def run(y):
    step(y)
""",
    "a case that captures, and what it captured": """
def step(y, mode):
    match mode:
        case flag:
            if flag:
                return y.sum().item()
    return y

def run(y):
    step(y, False)
""",
    "alternatives of which one matches": """
def step(y, mode):
    match mode:
        case "a" | "b":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "b")
""",
    "the wildcard after alternatives of which one matches": """
def step(y, mode):
    match mode:
        case "a" | "b":
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "b")
""",
    "alternatives of which none matches": """
def step(y, mode):
    match mode:
        case "a" | "b":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "c")
""",
    "a class that does not match": """
def step(y, mode):
    match mode:
        case int():
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "a class that matches": """
def step(y, mode):
    match mode:
        case str():
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "a class of ours that matches": """
class Decode:
    pass

class Prefill:
    pass

def step(y, mode):
    match mode:
        case Decode():
            return y
        case Prefill():
            return y.sum().item()

def run(y):
    step(y, Prefill())
""",
    "None": """
def step(y, mode):
    match mode:
        case None:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, None)
""",
    "True is not 1 to a case": """
def step(y, mode):
    match mode:
        case True:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, 1)
""",
    "1 equals True to a case": """
def step(y, mode):
    match mode:
        case 1:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, True)
""",
    "a subject that reads": """
def run(y):
    match y.sum().item():
        case 1:
            pass
""",
    "a value pattern of an enumeration": """
import enum

class Mode(enum.Enum):
    FULL = 1
    PIECEWISE = 2

def step(y, mode):
    match mode:
        case Mode.FULL:
            return y
        case Mode.PIECEWISE:
            return y.sum().item()

def run(y):
    step(y, Mode.PIECEWISE)
""",
    "a sequence that matches": """
def step(y, pair):
    match pair:
        case [first]:
            return y
        case [False, second]:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, (False, 1))
""",
    "a sequence of another length": """
def step(y, pair):
    match pair:
        case [first, second]:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, (1, 2, 3))
""",
    "a sequence with a rest": """
def step(pair):
    match pair:
        case [True, *rest, last]:
            if not rest[0]:
                return last.sum().item()
    return None

def run(y):
    step([True, False, 1, y])
""",
    "a sequence with too few for its rest": """
def step(y, pair):
    match pair:
        case [first, *rest, last]:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, (1,))
""",
    "text is no sequence": """
def step(y, pair):
    match pair:
        case [first, second]:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "ab")
""",
    "a mapping that matches": """
def step(options):
    match options:
        case {"mode": "a"}:
            return None
        case {"mode": "b", "y": tensor}:
            return tensor.sum().item()

def run(y):
    step({"mode": "b", "y": y})
""",
    "a mapping that lacks the key": """
def step(y, options):
    match options:
        case {"mode": _}:
            return y.sum().item()
        case {}:
            return y

def run(y):
    step(y, {"other": 1})
""",
    "a class with attributes": """
class Batch:
    def __init__(self, eager, y):
        self.eager = eager
        self.y = y

def step(batch):
    match batch:
        case Batch(eager=True):
            return None
        case Batch(eager=False, y=tensor):
            return tensor.sum().item()

def run(y):
    step(Batch(False, y))
""",
    "a class with match_args": """
class Batch:
    __match_args__ = ("eager", "y")

    def __init__(self, y, eager):
        self.eager = eager
        self.y = y

def step(batch):
    match batch:
        case Batch(True, tensor):
            return None
        case Batch(False, tensor):
            return tensor.sum().item()

def run(y):
    step(Batch(y, False))
""",
    "a base class that matches": """
class Base:
    pass

class Decode(Base):
    pass

def step(y, mode):
    match mode:
        case Base():
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, Decode())
""",
    "a built-in class with what it captures": """
def step(y, mode):
    match mode:
        case int(flag) if flag > 1:
            return y
        case str(text):
            return y.sum().item()

def run(y):
    step(y, "a")
""",
    "as, around alternatives": """
def step(y, mode):
    match mode:
        case ("a" | "b") as kind if kind == "b":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "b")
""",
    "as, around alternatives, with a guard that does not hold": """
def step(y, mode):
    match mode:
        case ("a" | "b") as kind if kind == "b":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "alternatives with None": """
def step(y, mode):
    match mode:
        case None | "a":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, None)
""",
    "a match in a loop": """
def run(y):
    for mode in ("a", "b"):
        match mode:
            case "b":
                y.sum().item()
""",
    "a wildcard with a guard": """
def step(y, flag):
    match 1:
        case _ if flag:
            return y
    return y.sum().item()

def run(y):
    step(y, False)
""",
    "a name bound by a case stays bound": """
def step(y, mode):
    match mode:
        case flag:
            pass
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(y, False)
""",
    "a negative number": """
def step(y, mode):
    match mode:
        case -1:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, -1)
""",
    "a return inside a case, and what is behind the match": """
def step(y, mode):
    match mode:
        case "a":
            return y
        case "b":
            pass
    return y.sum().item()

def run(y):
    step(y, "a")
""",
    "a nested match": """
def step(y, mode, kind):
    match mode:
        case "a":
            match kind:
                case 1:
                    return y
                case _:
                    return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a", 2)
""",
    "a pair of subjects": """
def step(y, mode, kind):
    match mode, kind:
        case "a", 1:
            return y
        case "a", 2:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a", 2)
""",
}
