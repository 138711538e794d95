"""Programs in which captured code asks objects for attributes."""

from __future__ import annotations

_MODEL = """
class Base:
    flag = False
    near = False

    def read(self, y):
        return y.sum().item()

    @property
    def wanted(self):
        return True

    @classmethod
    def make(cls, flag=True):
        made = cls()
        made.flag = flag
        return made

    @staticmethod
    def same(value):
        return value

    class Inner:
        deep = True

class Model(Base):
    near = True
    said = Base.near

    def __init__(self, given=None, *, kept=False):
        self.given = given
        self.kept = kept

    def read(self, y):
        return y

    def above(self, y):
        return super().read(y)

    @property
    def wanted(self):
        return not super().wanted

    @classmethod
    def make(cls, flag=False):
        return super().make(flag)

"""


def _models(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"{_MODEL}def run(y):\n{lines}"


_BODIES = {
    "a class attribute of a base": "if Model().flag:\n    y.item()",
    "a class attribute of its own": "if Model().near:\n    y.item()",
    "a class attribute of a class": "if Model.near:\n    y.item()",
    "a class attribute of the base itself": "if Base.near:\n    y.item()",
    "a class attribute that is another's": "if Model.said:\n    y.item()",
    "an attribute that was given": "if Model(1).given:\n    y.item()",
    "an attribute that was not given": "if Model().given:\n    y.item()",
    "an attribute that was given by name": "if Model(kept=True).kept:\n    y.item()",
    "an attribute that keeps its default": "if Model(1).kept:\n    y.item()",
    "an attribute set from outside": "model = Model()\nmodel.flag = True\nif model.flag:\n    y.item()",
    "an attribute set on another": "model, other = Model(), Model()\nother.kept = 1\nmodel.kept and y.item()",
    "a property that says no": "if Model().wanted:\n    y.item()",
    "a property that says yes": "if Base().wanted:\n    y.item()",
    "a method that does not read": "Model().read(y)",
    "a method that reads": "Base().read(y)",
    "a method of the base through super": "Model().above(y)",
    "a method of the base, given the object": "Base.read(Model(), y)",
    "a class method on a class": "if Model.make(True).flag:\n    y.item()",
    "a class method whose default says no": "if Model.make().flag:\n    y.item()",
    "a class method on an instance": "if Base().make().flag:\n    y.item()",
    "a class method makes its own class": "Model.make(1).read(y)",
    "a class method of the base makes the base": "Base.make(1).read(y)",
    "a static method on a class": "if Model.same(True):\n    y.item()",
    "a static method on an instance": "if Model().same(False):\n    y.item()",
    "a class in a class": "if Model.Inner.deep:\n    y.item()",
    "a class in a class through an instance": "if Model().Inner().deep:\n    y.item()",
}

#: `run(y)` is captured, and `y` is a tensor on the GPU.
ATTRIBUTES = {name: _models(body) for name, body in _BODIES.items()}
