"""Functions and classes that another process cannot import, called there and here with the same result."""

from __future__ import annotations

import functools
import os
import pickle
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from coldfork.launch.pool.by_value.refusals import CannotBeSentError
from coldfork.launch.pool.by_value.sender import dumps
from tests.launch.pool.elsewhere import CallFailed, Elsewhere, Notebook

SAME = {
    "a recursive function": ("def f(n): return 1 if n < 2 else n * f(n - 1)", "lambda: f(6)"),
    "mutual recursion": (
        "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)",
        "lambda: (even(10), odd(10))",
    ),
    "a cache that its function fills": (
        "import functools\n@functools.lru_cache(maxsize=7)\ndef fib(n): return n if n < 2 else fib(n-1) + fib(n-2)",
        "lambda: (fib(40), fib.cache_parameters(), fib.__name__, fib.__wrapped__(1))",
    ),
    "a closure that calls itself": (
        "def make():\n def inner(n): return 1 if n < 2 else n * inner(n - 1)\n return inner\ninner = make()",
        "inner.__get__(5)",
    ),
    "a variable that two closures share": (
        "def make():\n"
        " n = 0\n"
        " def more():\n  nonlocal n\n  n += 1\n"
        " def see(): return n\n"
        " return more, see\n"
        "more, see = make()",
        "lambda: (more(), more(), see())",
    ),
    "a variable without a value yet": (
        "def make():\n def f(): return later\n if False: later = 1\n return f\nf = make()",
        "lambda: [type(c) for c in f.__closure__]",
    ),
    "globals in comprehensions, nested code and class bodies": (
        "a, b, c = 1, 2, 3\n"
        "def f():\n"
        " class Body:\n  x = a\n  y = [b + i for i in range(c)]\n"
        " return Body.x, Body.y, (lambda: [a for _ in range(c)])()",
        "f",
    ),
    "defaults, keyword defaults and annotations": (
        "def f(x: int, y=[1, 2], *, z: 'str' = 'z') -> float: 'doc'; return x, y, z",
        "lambda: (f(0), f.__defaults__, f.__kwdefaults__, f.__annotations__, f.__doc__)",
    ),
    "a decorated function": (
        "import functools\n"
        "def twice(f):\n"
        " @functools.wraps(f)\n"
        " def wrapper(*a): return f(*a), f(*a)\n"
        " return wrapper\n"
        "@twice\n"
        "def f(x): return x + 1\n"
        "f.tag = 'tag'",
        "lambda: (f(1), f.__wrapped__(2), f.__name__, f.__qualname__, f.__module__, f.tag)",
    ),
    "partial": ("import functools\ndef f(a, b): return a - b", "functools.partial(f, 5, b=3)"),
    "single dispatch": (
        "import functools\n"
        "@functools.singledispatch\ndef kind(x): return 'other'\n"
        "@kind.register\ndef _(x: int): return 'number'",
        "lambda: (kind(1), kind('')) + (kind.dispatch(bool) is kind.dispatch(int),)",
    ),
    "a context manager": (
        "import contextlib\n@contextlib.contextmanager\ndef manage(x):\n yield x + 1",
        "lambda: manage(1).__enter__()",
    ),
    "a bound method": ("class C:\n def __init__(self): self.x = 4\n def m(self): return self.x", "C().m"),
    "a method under another name": ("class C: x = 4\nC.n = C.m = lambda self: self.x", "C().n"),
    "every kind of method": (
        "import functools\n"
        "class C:\n"
        " def __init__(self): self._v = 1\n"
        " @staticmethod\n def s(x): return x\n"
        " @classmethod\n def c(cls): return cls.__name__\n"
        " @property\n def p(self): 'doc'; return self._v\n"
        " @p.setter\n def p(self, v): self._v = v\n"
        " @functools.cached_property\n def k(self): return [self._v]\n"
        "def f():\n c = C(); c.p = 3\n return c.p, C.s(1), C.c(), c.k, c.k is c.k, C.p.__doc__",
        "f",
    ),
    "inheritance and super": (
        "class A:\n def m(self): return 'A'\n"
        "class B(A):\n def m(self): return 'B' + super().m()\n"
        "class C(A):\n def m(self): return 'C' + super().m()\n"
        "class D(B, C):\n def m(self): return 'D' + super().m()\n def me(self): return __class__.__name__",
        "lambda: (D().m(), D().me(), [c.__name__ for c in D.__mro__], isinstance(D(), A))",
    ),
    "slots": (
        "class A:\n __slots__ = ('x', '__y')\n def __init__(self): self.x = 1; self.__y = 2\n"
        " def both(self): return self.x, self.__y\n"
        "class B(A): __slots__ = 'z'",
        "lambda: (A().both(), B().both(), hasattr(A(), '__dict__'), hasattr(B(), '__dict__'), B.z.__name__)",
    ),
    "keywords of a class statement": (
        "class Base:\n"
        " def __init_subclass__(cls, /, tag): cls.tag = tag\n"
        "class Sub(Base, tag='here'): pass\n"
        "def f():\n class More(Sub, tag='there'): pass\n return Sub.tag, More.tag",
        "f",
    ),
    "a metaclass": (
        "class Meta(type):\n"
        " def __new__(meta, name, bases, body, *, extra):\n"
        "  return super().__new__(meta, name, bases, {**body, 'extra': extra})\n"
        " def __init__(cls, *a, extra): pass\n"
        " def __call__(cls, *a): return ['made', super().__call__(*a)]\n"
        " def __len__(cls): return 3\n"
        "class C(metaclass=Meta, extra=1): pass",
        "lambda: (C.extra, len(C), C()[0], type(C).__name__)",
    ),
    "dataclasses": (
        "import dataclasses\n"
        "from dataclasses import dataclass, field\n"
        "@dataclass(frozen=True, order=True)\n"
        "class D:\n x: int\n y: list = field(default_factory=list, metadata={'m': 1})\n z: int = field(default=3, kw_only=True)\n"
        "@dataclass(slots=True)\nclass S(D if False else object):\n x: int = 1\n"
        "def f():\n"
        " @dataclass(frozen=True)\n class E(D):\n  w: int = field(default=5, kw_only=True)\n"
        " return (dataclasses.asdict(E(1)), D(1) < D(2), D(1) == D(1), [n.name for n in dataclasses.fields(D)],\n"
        "  dataclasses.replace(D(1), x=2).x, D.__match_args__, repr(S(2)), dataclasses.fields(D)[1].metadata['m'],\n"
        "  [n.default is dataclasses.MISSING for n in dataclasses.fields(D)])",
        "f",
    ),
    "enumerations": (
        "import enum\n"
        "class Colour(enum.Enum):\n RED = 1\n GREEN = 2\n ROUGE = 1\n def shout(self): return self.name + '!'\n"
        "class Number(enum.IntEnum):\n A = 1\n B = 2\n"
        "class Word(enum.StrEnum):\n A = enum.auto()\n"
        "class Planet(enum.Enum):\n E = (1.0, 2.0)\n M = (3.0, 4.0)\n"
        " def __init__(self, m, r): self.m, self.r = m, r\n @property\n def g(self): return self.m / self.r\n"
        "class Coin(bytes, enum.Enum):\n"
        " def __new__(cls, v, label):\n  o = bytes.__new__(cls, [v]); o._value_ = v; o.label = label; return o\n"
        " ONE = (1, 'one')\n"
        "def f():\n return (Colour.RED.shout(), Colour(2) is Colour.GREEN, Colour['ROUGE'] is Colour.RED,\n"
        "  [m.name for m in Colour], Number.A + 1, Number(2) is Number.B, Word('a') is Word.A, str(Word.A),\n"
        "  Planet.M.g, Planet((1.0, 2.0)) is Planet.E, Coin(1).label, Coin.ONE == bytes([1]), Colour.RED in Colour,\n"
        "  {Colour.RED: 1}[Colour.ROUGE], len(Colour), Colour.__members__['ROUGE'].name)",
        "f",
    ),
    "flags": (
        "import enum\n"
        "class P(enum.Flag):\n R = 1\n W = 2\n X = 4\n RW = 3\n"
        "both = P.R | P.W\nrest = ~P.R\nodd = P.R | P.X",
        "lambda: (both is P.RW, rest == P.W | P.X, odd == P(5), P.R in odd, [m.name for m in odd], ~P.W == odd,"
        " bool(P.R & P.W))",
    ),
    "named tuples": (
        "import typing, collections\n"
        "class N(typing.NamedTuple):\n a: int\n b: str = 'x'\n def m(self): return self.a\n"
        "M = collections.namedtuple('M', 'p q', defaults=[4])",
        "lambda: (tuple(N(1)), N(1).m(), tuple(M(2)), N(1)._replace(a=4).a, M._fields, N._field_defaults, M(1) == (1, 4))",
    ),
    "instances that the methods of their class refer to": (
        "import typing\nclass P(typing.NamedTuple):\n x: int\n def m(self): return ORIGIN.x, AGAIN()\n"
        "class Q:\n def __init__(self, v): self.v = v\n def m(self): return ZERO.v\n"
        "ORIGIN = P(3)\nZERO = Q(4)\nAGAIN = ZERO.m",
        "lambda: (P(2).m(), Q(1).m())",
    ),
    "generics": (
        "import typing\n"
        "T = typing.TypeVar('T', bound=int)\nU = typing.TypeVar('U', covariant=True)\nP = typing.ParamSpec('P')\n"
        "class G(typing.Generic[T]):\n"
        " def __init__(self, v: T): self.v = v\n"
        " def me(self) -> 'G[T]': return self\n"
        "class I(G[int]): pass\n"
        "Many = typing.Union[G[int], list[I], None]\n"
        "Id = typing.NewType('Id', int)",
        "lambda: (G[int](3).v, I(4).me().v, G.__parameters__ == (T,), I.__orig_bases__ == (G[int],),"
        " G[T].__args__ == (T,), T.__bound__, U.__covariant__, P.__name__, typing.get_args(Many)[0] == G[int],"
        " Id(3), Id.__name__, Id.__supertype__)",
    ),
    "abstract base classes": (
        "import abc\n"
        "class A(abc.ABC):\n"
        " @abc.abstractmethod\n def f(self): ...\n"
        " @property\n @abc.abstractmethod\n def g(self): ...\n"
        "class B(A):\n def f(self): return 1\n g = property(lambda self: 2)\n"
        "A.register(int)\n"
        "def f():\n"
        " try: A()\n except TypeError as error: text = str(error)\n"
        " return text, B().f(), B().g, isinstance(1, A), isinstance('', A), sorted(A.__abstractmethods__)",
        "f",
    ),
    "protocols": (
        "import typing\n"
        "@typing.runtime_checkable\nclass P(typing.Protocol):\n def f(self) -> int: ...\n"
        "class Q:\n def f(self): return 1",
        "lambda: (isinstance(Q(), P), isinstance(1, P), issubclass(Q, P))",
    ),
    "typed dictionaries": (
        "import typing\nclass T(typing.TypedDict, total=False):\n a: int",
        "lambda: (T(a=1), T.__total__, T.__optional_keys__)",
    ),
    "exceptions": (
        "class E(Exception):\n def __init__(self, a, b): super().__init__(a, b); self.b = b\n"
        "def f():\n try: raise E(1, 2)\n except E as e: return e.args, e.b",
        "f",
    ),
    "coroutines and generators": (
        "import asyncio\n"
        "async def co(n): return n + 1\n"
        "async def many():\n for n in range(3): yield await co(n)\n"
        "def gen(n):\n x = yield from range(n)\n return x\n"
        "def f():\n"
        " async def main(): return [n async for n in many()]\n"
        " return asyncio.run(main()), list(gen(3))",
        "f",
    ),
    "modules, and modules of packages": (
        "import xml.dom.minidom, os.path, collections.abc as abc",
        "lambda: (xml.dom.minidom.parseString('<a/>').toxml(), os.path.join('a', 'b'), abc.Sized.__name__)",
    ),
    "types of the interpreter": (
        "import types\nF = types.FunctionType\nG = types.GeneratorType\nN = type(None)\nE = type(...)",
        "lambda: (F is type(lambda: 0), G is type(x for x in ''), N is type(None), E is type(...))",
    ),
    "what every process has": (
        "import sys, os\nfrom os import environ\nout = sys.stderr",
        "lambda: (out is sys.stderr, environ is os.environ)",
    ),
    "more names than one byte counts": (
        "\n".join(f"n{i} = {i}" for i in range(700))
        + "\ndef f():\n return ["
        + ", ".join(f"n{i}" for i in range(700))
        + "]",
        "f",
    ),
    "a class inside a class and one inside a function": (
        "class A:\n class B:\n  x = 1\n  class C: y = 2\n"
        "def make():\n class Local:\n  def m(self): return Local\n return Local\n"
        "Local = make()",
        "lambda: (A.B.x, A.B.C.y, A.B.C.__qualname__, Local().m() is Local, Local.__qualname__)",
    ),
    "a class that refers to itself": (
        "class Node:\n registry = {}\n def __init__(self): self.next = Node\nNode.registry['n'] = Node\nNode.first = Node()",
        "lambda: (Node.registry['n'] is Node, Node.first.next is Node, type(Node.first) is Node)",
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_the_result_is_the_same_in_another_process(
    case: str, notebook: Notebook, elsewhere: Elsewhere
) -> None:
    source, expression = SAME[case]
    notebook.run(source)
    there = elsewhere(notebook[expression])

    assert there == notebook[expression]()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is of Python 3.12")
def test_type_parameters_travel(notebook: Notebook, elsewhere: Elsewhere) -> None:
    notebook.run(
        "class C[T]:\n def m[U](self, x: U) -> T: return x\ntype A[T] = list[T]\ndef f[T](x: T): return x"
    )
    ask = notebook[
        "lambda: (C[int]().m(1), A.__name__, f(2), C.__type_params__[0].__name__, len(f.__type_params__))"
    ]

    assert elsewhere(ask) == ask()


def test_lambdas_and_nested_functions_of_a_module_use_its_globals_over_there(elsewhere: Elsewhere) -> None:
    number = 5

    def nested(text: str) -> str:
        return os.path.join(text, str(number))

    assert elsewhere(nested, "a") == nested("a")
    assert elsewhere(functools.partial(map, lambda n: n * number), [1, 2]).__class__ is map


def test_two_functions_of_one_pickle_share_their_globals(notebook: Notebook, elsewhere: Elsewhere) -> None:
    notebook.run("n = 0\ndef up():\n global n\n n += 1\ndef see(): return n\nkept = {'see': see}")
    asked = notebook["lambda: (up(), up(), see(), kept['see'] is see, see.__globals__ is up.__globals__)"]

    assert elsewhere(asked) == (None, None, 2, True, True)
    assert notebook["n"] == 0


def test_what_a_call_assigns_to_a_global_is_there_for_the_next(
    notebook: Notebook, elsewhere: Elsewhere
) -> None:
    notebook.run("def start():\n global model\n model = 'loaded'\ndef work(): return model\nnot_yet = work")
    elsewhere(notebook["start"])
    unset = elsewhere(notebook["work"])
    notebook.run("model = 'mine'")

    assert unset == "loaded"
    assert elsewhere(notebook["work"]) == "mine"


def test_all_functions_of_a_call_see_a_global_that_changed_here(
    notebook: Notebook, elsewhere: Elsewhere
) -> None:
    notebook.run(
        "def start():\n global model\n model = 'loaded'\ndef work(): return model\ndef more(): return model"
    )
    elsewhere(notebook["start"])
    notebook.run("model = 'mine'")

    assert elsewhere(notebook["lambda: (work(), more(), model)"]) == ("mine", "mine", "mine")


def test_a_global_that_did_not_change_here_does_not_undo_what_a_call_assigned(
    notebook: Notebook, elsewhere: Elsewhere
) -> None:
    notebook.run("model = None\ndef start():\n global model\n model = 'loaded'\ndef work(): return model")

    assert elsewhere(notebook["work"]) is None
    elsewhere(notebook["start"])
    assert elsewhere(notebook["work"]) == "loaded"
    assert elsewhere(notebook["work"]) == "loaded"


def test_a_class_arrives_as_one_class(notebook: Notebook, elsewhere: Elsewhere) -> None:
    notebook.run("class C: pass\nkept = []\n")
    elsewhere(notebook["lambda: __import__('builtins').__dict__.update(kept=C)"])

    assert elsewhere(notebook["lambda: __import__('builtins').kept is C"])
    assert elsewhere(notebook["lambda c: isinstance(c, __import__('builtins').kept)"], notebook["C()"])


def test_a_class_that_changed_arrives_changed_and_keeps_what_it_loaded(
    notebook: Notebook, elsewhere: Elsewhere
) -> None:
    notebook.run("class C:\n model = None\n limit = 1\n old = 1\n def m(self): return 'before'")
    elsewhere(
        notebook["lambda: (setattr(C, 'model', 'loaded'), __import__('builtins').__dict__.update(kept=C))[0]"]
    )
    notebook.run("C.limit = 2\nC.m = lambda self: 'after'\ndel C.old")

    assert elsewhere(notebook["lambda: (C.model, C.limit, C().m(), hasattr(C, 'old'))"]) == (
        "loaded", 2, "after", False,
    )  # fmt: skip


def test_instances_come_home_as_instances_of_the_class_here(notebook: Notebook, elsewhere: Elsewhere) -> None:
    notebook.run(
        "import enum, typing\n"
        "class C:\n lock = None\n def __init__(self, n): self.n = n\n"
        "class E(enum.Enum): A = 1\n"
        "class N(typing.NamedTuple): a: int\n"
        "T = typing.TypeVar('T')\n"
        "def made():\n C.lock = __import__('threading').Lock()\n return C(4), C, E.A, N(1), T"
    )
    instance, cls, member, pair, variable = elsewhere(notebook["made"])

    assert (type(instance), instance.n) == (notebook["C"], 4)
    assert cls is notebook["C"]
    assert member is notebook["E.A"]
    assert type(pair) is notebook["N"]
    assert variable is notebook["T"]
    assert notebook["C.lock"] is None


def test_a_class_made_over_there_arrives_here_and_goes_on(notebook: Notebook, elsewhere: Elsewhere) -> None:
    notebook.run("def make():\n class Made:\n  def m(self): return 7\n return Made()")
    made = elsewhere(notebook["make"])

    assert made.m() == 7
    assert elsewhere(type(made).m, made) == 7
    third = Elsewhere()
    assert third(notebook["lambda m: m.m()"], made, onward=True) == 7
    with pytest.raises(
        CallFailed, match=r"make\.<locals>\.Made came from another process as a copy of a class"
    ):
        third(notebook["lambda m: m.m()"], elsewhere(notebook["make"]))
    third.close()


def test_an_imported_base_hears_of_its_new_subclass(
    notebook: Notebook, elsewhere: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plugin_base.py").write_text(
        "class Base:\n"
        " known = {}\n"
        " def __init_subclass__(cls): Base.known[cls.name] = cls\n"
    )  # fmt: skip
    monkeypatch.syspath_prepend(tmp_path)
    elsewhere(notebook["lambda path: __import__('sys').path.insert(0, path)"], str(tmp_path))
    notebook.run("from plugin_base import Base\nclass Mine(Base): name = 'mine'")

    assert elsewhere(notebook["lambda: Base.known['mine'] is Mine"])


def test_what_the_main_file_has_is_found_by_name_where_it_is_not_by_value(notebook: Notebook) -> None:
    notebook.run("def f(): return 1\nclass C: pass\ng = lambda: f()")

    assert b"make_function" not in dumps(notebook["f"], main_by_value=False)
    assert b"make_class" not in dumps(notebook["C"], main_by_value=False)
    assert b"make_function" in dumps(notebook["g"], main_by_value=False)


def test_a_lambda_finds_what_an_initializer_put_into_the_main_module(
    notebook: Notebook, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text("def start():\n    global model\n    model = 'loaded'\nstart()\n")
    notebook.run("ask = lambda: (model, only_here)\nonly_here = 3")
    other = Elsewhere(str(script))

    assert other(notebook["ask"]) == ("loaded", 3)
    other.close()


REFUSED = {
    "a global": (
        "log = open(__import__('os').devnull)\ndef f(): return log",
        "f",
        "f uses the global `log`, a _io.TextIOWrapper, which cannot be sent to another process; "
        "make it inside the task, or pass what it is made from",
    ),
    "inside a global": (
        "import threading\nstate = {'lock': threading.Lock()}\ndef f(): return state",
        "f",
        "f uses the global `state`, a dict that holds a _thread.lock, which cannot be sent to another process; "
        "make it inside the task, or pass what it is made from",
    ),
    "a global of a function that is called": (
        "gen = (x for x in '')\ndef f(): return gen\ndef g(): return f()",
        "lambda: g()",
        "f uses the global `gen`, a generator, which cannot be sent to another process; "
        "make it inside the task, or pass what it is made from",
    ),
    "a variable": (
        "import socket\ndef make():\n s = socket.socket()\n s.close()\n return lambda: s",
        "make()",
        "make.<locals>.<lambda> uses the variable `s`, a socket.socket, which cannot be sent to another process; "
        "make it inside the task, or pass what it is made from",
    ),
    "an attribute of a class": (
        "import threading\nclass C: guard = threading.Lock()",
        "C()",
        "C has the attribute `guard`, a _thread.lock, which cannot be sent to another process; "
        "make it inside the task, or pass what it is made from",
    ),
    "a default": (
        "import threading\ndef f(a, b=1, *, lock=threading.Lock()): pass\ndef g(a, lock=threading.Lock()): pass",
        "g",
        "g has the default `lock`, a _thread.lock, which cannot be sent to another process; "
        "make it inside the task, or pass what it is made from",
    ),
    "a module made at run time": (
        "import types\nmade = types.ModuleType('made')\ndef f(): return made",
        "f",
        "f uses the global `made`, a module, which cannot be sent to another process; "
        "make it inside the task, or pass what it is made from",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_sent_is_named(case: str, notebook: Notebook) -> None:
    source, expression, message = REFUSED[case]
    notebook.run(source)
    with pytest.raises(CannotBeSentError) as refused:
        dumps(notebook[expression], main_by_value=True)

    assert str(refused.value) == message
    assert isinstance(refused.value, pickle.PicklingError)
    assert str(pickle.loads(pickle.dumps(refused.value))) == message
    close = getattr(notebook.module, "log", None)
    if close is not None:
        close.close()


def test_an_argument_that_cannot_be_sent_fails_as_pickle_has_it(notebook: Notebook) -> None:
    notebook.run("def f(x): return x")
    with pytest.raises(TypeError, match=r"cannot pickle '_thread\.lock' object"):
        dumps((notebook["f"], threading.Lock()), main_by_value=True)


def test_a_function_of_a_module_that_nobody_can_import_travels_by_value(elsewhere: Elsewhere) -> None:
    module = ModuleType("made_at_run_time")
    exec("factor = 3\ndef f(n): return n * factor", vars(module))
    sys.modules[module.__name__] = module
    try:
        assert elsewhere(module.f, 4) == 12
    finally:
        del sys.modules[module.__name__]


def test_large_buffers_stay_out_of_the_pickle(notebook: Notebook) -> None:
    buffers: list[Any] = []
    data = bytearray(1 << 20)
    notebook.run("def f(x): return memoryview(x).nbytes")
    pickled = dumps((notebook["f"], pickle.PickleBuffer(data)), buffers.append, main_by_value=True)

    assert len(pickled) < 2000
    call, argument = pickle.loads(pickled, buffers=buffers)
    assert call(argument) == 1 << 20
