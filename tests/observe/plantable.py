"""The parts of generated programs: statements that wake, places for them, and ways to import.

In a place, `{w}` is the waking statement or expression and `{f}` the function that wakes. `@S` ends the line
on which the import-time site stands, `@C` the one that makes the waking call, `@I` the one that imports.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

ANY = "ANY"


@dataclass(frozen=True)
class Waking:
    """A statement that wakes the device, and the name of the call in it as far as Python can tell it."""

    statement: str
    calls: dict[bool, tuple[str | None, ...]]
    """The dotted names that may be given: with sys.monitoring, and without."""
    frames: tuple[str, ...] = ()
    """Functions of the device's own that stand on the stack behind the line."""


def _same(*names: str | None) -> dict[bool, tuple[str | None, ...]]:
    return {True: names, False: names}


_APPEND = _same("list.append")

WAKINGS = (
    Waking("planted_device.wake()", _APPEND, ("wake",)),
    Waking("planted_device.LIST.append(1)", _APPEND),
    Waking(
        "planted_device.foreign_wake(planted_device.PLACE, 1, 1)",
        {True: ("memset",), False: ("planted_device.foreign_wake", None)},
    ),
    Waking("planted_device.FIELD.value = 1", _same(None, ANY)),
    Waking("planted_device.SLOTS[0] = 1", _same(None, ANY)),
    Waking("planted_device.LIST += [1]", _same(None, ANY)),
    Waking("planted_device.THING + 1", _APPEND, ("Thing.__add__",)),
    Waking("planted_device.THING.value", _APPEND, ("Thing.value",)),
    Waking("planted_device.by_attribute", _APPEND, ("__getattr__",)),
    Waking("list(planted_device.waking_generator())", _APPEND, ("waking_generator",)),
    Waking("planted_device.drive()", _APPEND, ("drive", "coroutine")),
    Waking("planted_device.through_c()", _APPEND, ("through_c", "callback")),
    Waking("planted_device.partial_wake()", _APPEND, ("wake",)),
    Waking("planted_device.wake_badly()", _APPEND, ("wake_badly",)),
    Waking("planted_device.HOLDER.clear()", _APPEND, ("Dying.__del__",)),
    Waking("del planted_device.HOLDER['dying']", _APPEND, ("Dying.__del__",)),
    Waking("exec('planted_device.wake()')", _APPEND, ("<module>", "wake")),
    Waking("eval('planted_device.LIST.append(1)')", _APPEND, ("<module>",)),
)


@dataclass(frozen=True)
class Place:
    """A position in a module at which import-time code stands."""

    text: str
    functions: tuple[str, ...] = ("<module>",)
    """The scope at the site; more than one where Pythons differ."""
    statement: bool = False
    """True where a statement fits, False where only an expression does."""
    since: tuple[int, int] = (3, 11)
    until: tuple[int, int] = (9, 0)

    @property
    def exists(self) -> bool:
        """Whether this Python knows the syntax and runs such code at import time."""
        return self.since <= sys.version_info[:2] < self.until


def _statement(text: str, *functions: str) -> Place:
    return Place(text, functions or ("<module>",), statement=True)


_LAZY_ANNOTATIONS = (3, 14)

PLACES = (
    _statement("{w}  @S@C"),
    _statement("class Holder:\n    x = 1\n    {w}  @S@C", "Holder"),
    _statement("class Outer:\n    class Inner:\n        {w}  @S@C\n    y = 2", "Outer.Inner"),
    _statement("if True:\n    {w}  @S@C"),
    _statement("try:\n    {w}  @S@C\nexcept ValueError:\n    pass"),
    _statement("try:\n    raise ValueError\nexcept ValueError:\n    {w}  @S@C"),
    _statement("try:\n    pass\nfinally:\n    {w}  @S@C"),
    _statement("try:\n    pass\nexcept ValueError:\n    pass\nelse:\n    {w}  @S@C"),
    _statement("for turn in range(3):\n    if turn == 2:\n        {w}  @S@C"),
    _statement("while False:\n    pass\nelse:\n    {w}  @S@C"),
    _statement("import contextlib\nwith contextlib.suppress(ValueError):\n    {w}  @S@C"),
    _statement("match 1:\n    case 2:\n        pass\n    case _:\n        {w}  @S@C"),
    _statement("first = 1; {w}; last = 2  @S@C"),
    _statement("for turn in range(2):\n    class Holder:\n        if turn:\n            {w}  @S@C", "Holder"),
    Place("class Holder[T]:\n    x = 1\n    {w}  @S@C", ("Holder",), statement=True, since=(3, 12)),
    Place("class Base[T]: pass\nclass Derived[T](\n    Base[T],\n    metaclass={w} or type,  @S@C\n): pass",
          ("<module>", "<generic parameters of Derived>"), since=(3, 12)),
    Place("def later(x=[\n    {w},  @S@C\n]):\n    return x"),
    Place("def later(*, x=1, y=[{w}]):  @S@C\n    return x"),
    Place("later = lambda x=[{w}]: x  @S@C"),
    Place("value = [\n    1,\n    {w},  @S@C\n    2,\n]"),
    Place("value = {{\n    'a': 1,\n    'b': {w},  @S@C\n}}"),
    Place("value = dict(\n    a=1,\n    b={w},  @S@C\n)"),
    Place("class Base:\n    def __init_subclass__(cls, flag=None): pass\n"
          "class Derived(\n    Base,\n    flag={w},  @S@C\n): pass"),
    Place("text = f'{{{w}}}'  @S@C"),
    Place("text = f'{{1:{{[{w}][0:0] or 3}}}}'  @S@C"),
    Place("number: {w} = 1  @S@C", until=_LAZY_ANNOTATIONS),
    Place("def later() -> [{w}]: pass  @S@C", until=_LAZY_ANNOTATIONS),
    Place("class Holder:\n    number: [{w}]  @S@C", ("Holder",), until=_LAZY_ANNOTATIONS),
    Place("if [found := {w}]:  @S@C\n    pass"),
    Place("match [{w}]:  @S@C\n    case _: pass"),
    Place("match 1:\n    case 1 if [{w}]:  @S@C\n        pass"),
    Place("assert [{w}]  @S@C"),
    Place("chosen = 1 if [\n    {w}  @S@C\n] else 2"),
    Place("compared = 0 < 1 < len([{w}]) + 1  @S@C"),
    Place("either = 0 or \\\n    [{w}]  @S@C"),
    Place("first, *others = 1, {w}, 2  @S@C"),
    Place("def keep(value):\n    return lambda function: function\n@keep(1)\n@keep({w})  @S@C\ndef decorated(): pass"),
    Place("import contextlib\nwith contextlib.nullcontext({w}):  @S@C\n    pass"),
    Place("listed = [{w} for number in (1,)]  @S@C", ("<module>", "<listcomp>")),
    Place("listed = [\n    number\n    for number in (1,)\n    if not {w}  @S@C\n]", ("<module>", "<listcomp>")),
    Place("named = {{number: {w} for number in (1,)}}  @S@C", ("<module>", "<dictcomp>")),
    Place("nested = [[{w} for a in (1,)] for b in (1,)]  @S@C", ("<module>", "<listcomp>.<listcomp>")),
    Place("class Holder:\n    x = [{w} for a in (1,)]  @S@C", ("Holder", "Holder.<listcomp>")),
    Place("drained = list(  @S\n    {w}  @C\n    for number in (1,)\n)"),
    Place("called = (lambda: [  @S\n    {w}  @C\n])()"),
)  # fmt: skip

#: Ways to reach a function that wakes.
WAYS = (
    Place("{f}()  @S"),
    Place("class Holder:\n    value = {f}()  @S", ("Holder",)),
    Place("@{f}  @S\ndef decorated(): pass"),
    Place("@{f}  @S\nclass Decorated: pass"),
    Place("class Holder:\n    @{f}  @S\n    def method(self): pass", ("Holder",)),
    Place("class Thing:\n    def __init__(self): {f}()\nThing()  @S"),
    Place("class Thing:\n    def __new__(cls): return {f}()\nThing()  @S"),
    Place("class Thing:\n    def __call__(self): return {f}()\nThing()()  @S"),
    Place("class Meta(type):\n    def __call__(cls): return {f}()\nclass Made(metaclass=Meta): pass\nMade()  @S"),
    Place("class Meta(type):\n    def __new__(mcs, *rest):\n        {f}()\n        return type.__new__(mcs, *rest)\n"
          "class Made(metaclass=Meta):  @S\n    x = 1"),
    Place("class Meta(type):\n    @classmethod\n    def __prepare__(mcs, *rest): return {{'a': {f}()}}\n"
          "class Made(metaclass=Meta):  @S\n    x = 1"),
    Place("class Named:\n    def __set_name__(self, owner, name): {f}()\nclass Made:  @S\n    x = Named()"),
    Place("class Base:\n    def __init_subclass__(cls): {f}()\nclass Derived(Base):  @S\n    x = 1"),
    Place("ordered = sorted([1], key=lambda number: {f}() or 0)  @S"),
    Place("drained = list({f}() for number in (1,))  @S"),
    Place("drained = list(map({f}, (1,)))  @S"),
    Place("for item in iter({f}, 0):  @S\n    pass"),
    Place("import functools\nfolded = functools.reduce({f}, (1, 2))  @S"),
    Place("import functools\nfunctools.partial({f}, 1)()  @S"),
    Place("import functools\n@functools.lru_cache\ndef cached(): return {f}()\ncached()  @S"),
    Place("late = lambda: {f}()\nlate()  @S"),
    Place("class Thing:\n    @property\n    def value(self): return {f}()\nThing().value  @S"),
    Place("class Manager:\n    def __enter__(self): {f}()\n    def __exit__(self, *rest): pass\n"
          "with Manager():  @S\n    pass"),
    Place("class Thing:\n    def __getattr__(self, name): return {f}()\nThing().anything  @S"),
    Place("class Thing:\n    def __eq__(self, other): return not {f}()\n    __hash__ = None\nThing() in [1]  @S"),
    Place("class Thing:\n    def __repr__(self): return str({f}())\ntext = f'{{Thing()!r}}'  @S"),
    Place("def generate():\n    yield {f}()\nfor item in generate():  @S\n    pass"),
    Place("def generate():\n    try:\n        yield\n    finally:\n        {f}()\n"
          "running = generate()\nnext(running)\nrunning.close()  @S"),
    Place("def deep(n): return deep(n - 1) if n else {f}()\ndeep(30)  @S"),
    Place("exec('{f}()')  @S"),
    Place("exec(compile('\\n\\n{f}()', __file__, 'exec'))  @S"),
    Place("try:\n    raise ValueError\nexcept ValueError:\n    {f}()  @S"),
    Place("class Weak: pass\nimport weakref\nheld = Weak()\nreference = weakref.ref(held, {f})\ndel held  @S"),
)  # fmt: skip

FILLERS = (
    "import string",
    "import colorsys as colours",
    "def unused(a=1):\n    import planted_device\n    planted_device.wake()\n    return a",
    "class Quiet:\n    def never(self):\n        import planted_device\n        planted_device.wake()",
    "numbers = [n * n for n in range(5)]",
    "try:\n    import not_there_at_all\nexcept ImportError:\n    not_there_at_all = None",
    "exec(compile('quiet = 1', '<made>', 'exec'))",
    "import wave",
    "text = 'nothing to see'",
    '"""Text\nthat stands on\nthree lines."""',
    "import sys, gc\ngc.collect()",
    "import {p}\nassert {p} is not None",
    "try:\n    raise KeyError\nexcept KeyError:\n    pass",
    "async def never_awaited(): pass",
    "import {p}.m0  # which is still being imported",
)

#: How a module imports the next one.
IMPORTS = (
    "import {p}.{m}  @I",
    "from {p} import {m}  @I",
    "from {p} import (  @I\n    {m},\n)",
    "from . import {m}  @I",
    "from .{m} import *  @I",
    "import string, {p}.{m}, wave  @I",
    "import importlib\nimportlib.import_module('{p}.{m}')  @I",
    "import importlib\nimportlib.import_module('.{m}', __package__)  @I",
    "__import__('{p}.{m}')  @I",
    "import {p}.{m} as renamed  @I",
    "try:\n    import {p}.{m}  @I\nfinally:\n    pass",
    "def lazily():\n    import {p}.{m}\nlazily()  @I",
    "class Lazy:\n    from {p} import {m} as inside  @I",
    "listed = [__import__('{p}.{m}') for number in (1,)]  @I",
    "exec('import {p}.{m}')  @I",
    "import pkgutil\npkgutil.resolve_name('{p}.{m}')  @I",
    "import {p}\n{p}.lazily_{m}  @I",
    "from {p} import lazily_{m}  @I",
    "from . import _loading\n_loading.load('{p}.{m}')  @I",
    "from . import _loading\n_loading.by_hand('{p}.{m}')  @I",
    "from . import _loading\n_loading.on_first_use('{p}.{m}').anything_at_all_is_asked  @I",
    "from . import _loading\n_loading.again('{p}.{m}')  @I",
    "from . import _loading\n_loading.through_a_hook('{p}.{m}', _loading.Plain)  @I",
    "from . import _loading\n_loading.through_a_hook('{p}.{m}', _loading.Rewriting)  @I",
    "from . import _loading\n_loading.through_a_hook('{p}.{m}', _loading.Wrapping)  @I",
    "from . import _loading\n_loading.through_a_path_hook('{p}.{m}')  @I",
)

PACKAGE_INIT = """
def __getattr__(name):
    if not name.startswith("lazily_"):
        raise AttributeError(name)
    import importlib

    return importlib.import_module(f"{__name__}.{name[7:]}")
"""

LOADING = '''
import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


def place(name):
    return os.path.join(os.path.dirname(__file__), name.rpartition(".")[2] + ".py")


def load(name):
    importlib.import_module(name)


def by_hand(name):
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def on_first_use(name):
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    module.anything_at_all_is_asked = None
    return module


def again(name):
    """Reload a module that was never loaded."""
    spec = importlib.util.spec_from_file_location(name, place(name))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    importlib.reload(module)


class Plain(importlib.abc.Loader):
    """Runs a module's source itself, without importlib's loaders."""

    def __init__(self, name, path):
        self.path = path

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        with open(self.path, encoding="utf-8-sig") as file:
            exec(compile(file.read(), self.path, "exec"), module.__dict__)


class Rewriting(importlib.machinery.SourceFileLoader):
    """Runs another tree than the source's, as pytest does with assertions."""

    def exec_module(self, module):
        tree = ast.parse(self.get_data(self.path))
        exec(compile(ast.fix_missing_locations(tree), self.path, "exec"), module.__dict__)


class Wrapping(importlib.machinery.SourceFileLoader):
    """Does something after each module, as post-import hooks do."""

    def exec_module(self, module):
        super().exec_module(module)
        module.seen = True


class Finder(importlib.abc.MetaPathFinder):
    def __init__(self, wanted, loader):
        self.wanted = wanted
        self.loader = loader

    def find_spec(self, name, path=None, target=None):
        if name != self.wanted:
            return None
        loader = self.loader(name, place(name))
        return importlib.util.spec_from_file_location(name, place(name), loader=loader)


def through_a_hook(name, loader):
    sys.meta_path.insert(0, Finder(name, loader))
    importlib.import_module(name)


def through_a_path_hook(name):
    def hook(path):
        if path != os.path.dirname(__file__):
            raise ImportError
        return importlib.machinery.FileFinder(path, (Wrapping, [".py"]))

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()
    importlib.import_module(name)
'''

REPLACED_IMPORT = """import builtins
def _replace(original):
    def replaced(*arguments, **named): return original(*arguments, **named)
    return replaced
builtins.__import__ = _replace(builtins.__import__)"""

ANOTHER_DOOR = """import importlib._bootstrap as _inside
def _before(original):
    return lambda spec: original(spec)
_inside._load_unlocked = _before(_inside._load_unlocked)"""

#: What a module may do to itself and to the import system before or after it wakes.
MISCHIEF = (
    "",
    "import sys\nsys.modules[__name__] = __import__('types').SimpleNamespace(__name__=__name__)",
    "import sys\nsys.modules.pop(__name__)",
    REPLACED_IMPORT,
    ANOTHER_DOOR,
    "import sys\nsys.path_importer_cache.clear()",
    "import sys\nsys.meta_path = list(sys.meta_path)",
    "import warnings\nwarnings.simplefilter('ignore')",
    "__name__ = 'somebody_else'",
    "__file__ = 'nowhere.py'\n__spec__ = __loader__ = None",
    "import sys\nsys.modules[__name__].__class__ = type('Strange', (type(sys),), {})",
    "def __getattr__(name): raise AttributeError(name)",
    "import linecache\nlinecache.clearcache()",
)
