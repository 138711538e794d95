"""Programs in which captured code calls methods."""

from __future__ import annotations

#: `run(y)` is captured, and `y` is a tensor on the GPU.
METHODS = {
    "a method of its own": """
class Model:
    def forward(self, y):
        return y.sum().item()

def run(y):
    Model().forward(y)
""",
    "a diamond whose second base overrides": """
class Base:
    def forward(self, y):
        return y * 2

class Left(Base):
    pass

class Right(Base):
    def forward(self, y):
        return y.sum().item()

class Model(Left, Right):
    pass

def run(y):
    Model().forward(y)
""",
    "a diamond whose first base overrides": """
class Base:
    def forward(self, y):
        return y * 2

class Left(Base):
    pass

class Right(Base):
    def forward(self, y):
        return y.sum().item()

class Model(Right, Left):
    pass

def run(y):
    Model().forward(y)
""",
    "a diamond whose root reads and whose second base does not": """
class Base:
    def forward(self, y):
        return y.sum().item()

class Left(Base):
    pass

class Right(Base):
    def forward(self, y):
        return y * 2

class Model(Left, Right):
    pass

def run(y):
    Model().forward(y)
""",
    "a diamond of three levels": """
class Root:
    def forward(self, y):
        return y * 2

class Base(Root):
    pass

class Left(Base):
    pass

class Right(Base):
    pass

class Far(Root):
    def forward(self, y):
        return y.sum().item()

class Near(Left, Right):
    pass

class Model(Near, Far):
    pass

def run(y):
    Model().forward(y)
""",
    "a diamond walked by super": """
class Base:
    def forward(self, y):
        return y * 2

class Left(Base):
    def forward(self, y):
        return super().forward(y)

class Right(Base):
    def forward(self, y):
        return y.sum().item()

class Model(Left, Right):
    def forward(self, y):
        return super().forward(y)

def run(y):
    Model().forward(y)
""",
    "a diamond walked by super to its root": """
class Base:
    def forward(self, y):
        return y.sum().item()

class Left(Base):
    def forward(self, y):
        return super().forward(y)

class Right(Base):
    def forward(self, y):
        return super().forward(y)

class Model(Left, Right):
    def forward(self, y):
        return super().forward(y)

def run(y):
    Model().forward(y)
""",
    "super finds the base's method, not the class's own": """
class Base:
    def forward(self, y):
        return y.sum().item()

class Model(Base):
    def forward(self, y):
        return super().forward(y)

def run(y):
    Model().forward(y)
""",
    "super passes over the class that calls it": """
class Base:
    def finish(self, y):
        return y

class Model(Base):
    def forward(self, y):
        return super().finish(y)

    def finish(self, y):
        return y.sum().item()

def run(y):
    Model().forward(y)
""",
    "only the second base class has the method": """
class First:
    def other(self, y):
        return y

class Second:
    def forward(self, y):
        return y.sum().item()

class Model(First, Second):
    pass

def run(y):
    Model().forward(y)
""",
    "the first of two base classes wins": """
class First:
    def forward(self, y):
        return y

class Second:
    def forward(self, y):
        return y.sum().item()

class Model(First, Second):
    pass

def run(y):
    Model().forward(y)
""",
    "a class attribute of a diamond": """
class Base:
    eager = False

class Left(Base):
    pass

class Right(Base):
    eager = True

class Model(Left, Right):
    def forward(self, y):
        if self.eager:
            return y.sum().item()
        return y

def run(y):
    Model().forward(y)
""",
    "a constructor of a diamond": """
class Base:
    def __init__(self):
        self.eager = False

class Left(Base):
    pass

class Right(Base):
    def __init__(self):
        self.eager = True

class Model(Left, Right):
    def forward(self, y):
        if self.eager:
            return y.sum().item()
        return y

def run(y):
    Model().forward(y)
""",
    "a recursion that reads at its second turn": """
class Model:
    def forward(self, y, deep=True):
        if deep:
            return self.forward(y, False)
        return y.sum().item()

def run(y):
    Model().forward(y)
""",
    "a method that the class has from a base with brackets": """
from typing import Generic, TypeVar

T = TypeVar("T")

class Base(Generic[T]):
    def forward(self, y):
        return y.sum().item()

class Model(Base[int]):
    pass

def run(y):
    Model().forward(y)
""",
    "a diamond over a generic base": """
from typing import Generic, TypeVar

T = TypeVar("T")

class Base(Generic[T]):
    def forward(self, y):
        return y * 2

class Left(Base[int]):
    pass

class Right(Base[int]):
    def forward(self, y):
        return y.sum().item()

class Model(Left, Right):
    pass

def run(y):
    Model().forward(y)
""",
    "super with its arguments written out": """
class Base:
    def forward(self, y):
        return y.sum().item()

class Model(Base):
    def forward(self, y):
        return super(Model, self).forward(y)

def run(y):
    Model().forward(y)
""",
    "super from further up": """
class Root:
    def forward(self, y):
        return y.sum().item()

class Base(Root):
    def forward(self, y):
        return y * 2

class Model(Base):
    def forward(self, y):
        return super(Base, self).forward(y)

def run(y):
    Model().forward(y)
""",
    "a constructor that super calls along a diamond": """
class Base:
    def __init__(self):
        self.eager = False

class Left(Base):
    def __init__(self):
        super().__init__()

class Right(Base):
    def __init__(self):
        super().__init__()
        self.eager = True

class Model(Left, Right):
    def __init__(self):
        super().__init__()

    def forward(self, y):
        if self.eager:
            return y.sum().item()
        return y

def run(y):
    Model().forward(y)
""",
    "a property of a diamond": """
class Base:
    @property
    def eager(self):
        return False

class Left(Base):
    pass

class Right(Base):
    @property
    def eager(self):
        return True

class Model(Left, Right):
    def forward(self, y):
        if self.eager:
            return y.sum().item()
        return y

def run(y):
    Model().forward(y)
""",
    "a method called through a base class": """
class Base:
    def forward(self, y):
        return y.sum().item()

class Model(Base):
    def forward(self, y):
        return Base.forward(self, y)

def run(y):
    Model().forward(y)
""",
    "a static method, and a class method": """
class Model:
    @staticmethod
    def step(flag, y):
        if flag:
            return y.sum().item()
        return y

    @classmethod
    def build(cls, flag, y):
        if flag:
            return y.sum().item()
        return y

def run(y):
    Model.step(True, y)
    Model.build(False, y)
    Model().step(False, y)
""",
    "a method that is another name's": """
def helper(self, y):
    return y.sum().item()

class Model:
    forward = helper

def run(y):
    Model().forward(y)
    Model.forward(Model(), y)
""",
    "super in a class method": """
class Base:
    @classmethod
    def build(cls, y):
        return y.sum().item()

class Model(Base):
    @classmethod
    def build(cls, y):
        return super().build(y)

def run(y):
    Model.build(y)
""",
    "a nested class": """
class Model:
    class Inner:
        def forward(self, y):
            return y.sum().item()

def run(y):
    Model.Inner().forward(y)
""",
    "a class attribute called through a class method": """
class Model:
    eager = True

    @classmethod
    def step(cls, y):
        if cls.eager:
            return y.sum().item()
        return y

class Sub(Model):
    eager = False

def run(y):
    Model.step(y)
    Sub.step(y)
""",
}
