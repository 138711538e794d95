"""Generated modules: well-behaved programs whose import calls recording sinks in all sorts of places.

A program ends, raises nothing that it does not mean to, and every name is defined before it is used. Calls of
`torch.cuda.get_device_name(N)` are strewn in; which of them an import reaches is for CPython to say.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

Draw = st.DrawFn
SINK = "torch.cuda.get_device_name"
PRELUDE = """\
import contextlib
import dataclasses
import enum
import functools
import os
from functools import partial

import torch


def same(thing):
    return thing


def call(function, *rest):
    return function()


def named(*, function):
    return function()


def every(*functions):
    for function in functions:
        function()


def later(function):
    def inner(*args, **words):
        return function(*args, **words)
    return inner


def now(function):
    function()
    return function


def factory(function):
    def apply(decorated):
        function()
        return decorated
    return apply


class Holder:
    def __init__(self, function):
        self.function = function

    def run(self):
        return self.function()

    @property
    def asked(self):
        return self.function()

    def __enter__(self):
        return self.function()

    def __exit__(self, *problem):
        return None

    def __iter__(self):
        yield self.function()

    def __add__(self, other):
        return self.function()


@contextlib.contextmanager
def around(function):
    function()
    yield function


def steps(function):
    yield function
    yield function()


def chosen(which, first, second):
    if which == 0:
        return first
    elif which == 1:
        return second
    return None


def passed(*args, **words):
    return plain(*args, **words)


def plain(function, number=0, *, other=None, **rest):
    if other is not None:
        return other()
    if number > 1 or rest:
        return None
    return function()


def counted(function, number):
    if number <= 0:
        return function()
    return counted(function, number - 1)


class Asked:
    def __init__(self, function):
        self.function = function

    def __getattr__(self, name):
        if name == "absent":
            return self.function()
        raise AttributeError(name)

    def __call__(self):
        return self.function()

    def __getitem__(self, key):
        return self.function() if key else None

    def __contains__(self, item):
        self.function()
        return True

    def __bool__(self):
        self.function()
        return True

    def __eq__(self, other):
        return self.function()


class Given:
    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner=None):
        return self.function()


class Wide(Holder):
    extra = None

    def __init__(self, function, extra=None):
        super().__init__(function)
        if extra is not None:
            self.extra = extra

    def run(self):
        if self.extra:
            self.extra()
        return super().run()


class Counting(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.start()
        return made


class Started(metaclass=Counting):
    def __init__(self, function=int):
        self.function = function

    def start(self):
        self.function()


@dataclasses.dataclass
class Record:
    function: object = int
    made: object = dataclasses.field(default_factory=list)

    def __post_init__(self):
        if self.made:
            self.function()


"""
#: Conditions that only running tells; whether they hold.
UNKNOWN = {"len(os.listdir('.')) >= 0": True, "len(os.listdir('.')) < 0": False, "os.getpid() == 0": False}


@dataclass
class Scope:
    """The names that code may use at the place being written."""

    depth: int
    functions: list[str]
    """Names that can be called without an argument."""
    flags: list[str]
    """Names of constants."""
    in_function: bool = False
    in_class: bool = False
    in_loop: bool = False
    can_raise: bool = False

    def inner(self, **changes: bool) -> Scope:
        """The scope of a block below."""
        made = Scope(self.depth - 1, list(self.functions), list(self.flags), self.in_function, self.in_class)
        made.in_loop, made.can_raise = self.in_loop, self.can_raise
        for name, value in changes.items():
            setattr(made, name, value)
        return made


@dataclass
class Writer:
    """Writes one program."""

    draw: Draw
    lines: list[str] = field(default_factory=list)
    numbers: int = 0
    sinks: int = 0

    def pick(self, *options: str) -> str:
        """One of several words; the first is the simplest."""
        return self.draw(st.sampled_from(options))

    def chance(self) -> bool:
        """True now and then."""
        return self.draw(st.integers(0, 3)) == 3

    def count(self, most: int) -> int:
        """A small number."""
        return self.draw(st.integers(0, most))

    def fresh(self, kind: str) -> str:
        """A name that nothing has yet."""
        self.numbers += 1
        return f"{kind}{self.numbers}"

    def sink(self) -> str:
        """A call that is recorded."""
        self.sinks += 1
        return f"{SINK}({self.sinks})"

    def put(self, indent: int, text: str) -> None:
        """Write one line."""
        self.lines.append("    " * indent + text)

    # -- expressions --------------------------------------------------------------------------------

    def function(self, scope: Scope, depth: int = 2) -> str:
        """An expression for something that can be called without an argument.

        None depends on `UNKNOWN`: those have tests of their own.
        """
        simple = [
            "lambda: " + self.sink(),
            f"partial({SINK}, {self.sinks + 1})",
            "int",
            *scope.functions[-4:],
        ]
        if depth <= 0:
            return f"({self.pick(*simple)})"
        kind = self.pick(
            "simple", "tuple", "list", "dict", "same", "later", "holder", "bound", "lambda", "partial",
            "chosen", "get", "conditional", "or", "starred", "class", "asked", "wide", "getattr",
            "record", "started",
        )  # fmt: skip
        one = self.function(scope, depth - 1)
        if kind == "simple":
            return f"({self.pick(*simple)})"
        if kind in {"same", "later"}:
            return f"{kind}({one})"
        if kind == "holder":
            return f"Holder({one}).function"
        if kind == "bound":
            return f"Holder({one}).run"
        if kind == "lambda":
            return f"(lambda: {one}())"
        if kind == "partial":
            return f"partial(call, {one})"
        if kind == "class":
            return f"partial(Holder, {one})"
        if kind == "asked":
            return f"Asked({one})"
        if kind == "wide":
            return f"Wide({one}).run"
        if kind == "getattr":
            return f"getattr(Holder({one}), 'run')"
        if kind == "record":
            return self.pick(
                f"Record({one}).function", f"partial(Record, {one})", f"partial(Record, {one}, 1)"
            )
        if kind == "started":
            return f"partial(Started, {one})"
        other = self.function(scope, depth - 1)
        index = self.count(1)
        made = {
            "tuple": f"({one}, {other})[{index}]",
            "list": f"[{one}, {other}][{index - 1}]",
            "dict": f"{{'a': {one}, 'b': {other}}}['{'ab'[index]}']",
            "get": f"{{'a': {one}, 'b': {other}}}.get('{'ab'[index]}')",
            "chosen": f"chosen({index}, {one}, {other})",
            "conditional": f"({one} if {self.test(scope)} else {other})",
            "or": f"({one} or {other})",
            "starred": f"[*({one}, {other})][{index}]",
        }
        return made[kind]

    def value(self, scope: Scope) -> str:
        """An expression that may wake."""
        kind = self.pick(
            "sink", "call", "constant", "handed", "named", "every", "run", "property", "plus", "list",
            "comprehension", "dict", "any", "conditional", "and", "or", "next", "f-string", "map", "reduce",
            "compare", "passed", "counted", "absent", "item", "in", "equal", "wide", "sorted", "unknown",
            "given", "started", "record",
            "enumerate", "words",
        )  # fmt: skip
        if kind == "sink":
            return self.sink()
        if kind == "constant":
            return self.pick("None", "1", "''", "()")
        one = self.function(scope)
        made = {
            "call": f"{one}()",
            "handed": f"call({one})",
            "named": f"named(function={one})",
            "run": f"Holder({one}).run()",
            "property": f"Holder({one}).asked",
            "plus": f"Holder({one}) + 1",
            "list": f"list(steps({one}))",
            "any": f"any(number for number in [{one}()])",
            "next": f"next(steps({one}))",
            "f-string": f"f'{{{one}()}}'" if "'" not in one and '"' not in one else f"{one}()",
            "map": f"list(map(lambda number: {one}(), (1, 2)))",
            "reduce": f"functools.reduce(lambda left, right: {one}(), (1, 2))",
            "dict": f"{{number: {one}() for number in (1, 2)}}",
            "counted": f"counted({one}, {self.pick('1', '0', '2')})",
            "absent": f"Asked({one}).{self.pick('absent', '__class__')}",
            "item": f"Asked({one})[{self.pick('1', '0')}]",
            "in": f"1 in Asked({one})",
            "equal": f"Asked({one}) == 1",
            "sorted": f"sorted([2, 1], key=lambda number: [{one}(), 0][1])",
            "given": f"Given({one}).__get__(None)",
            "started": f"Started({one})",
            "record": f"Record({one}{self.pick('', ', [1]', ', made=1', ', ()')})",
            "enumerate": f"[item() for number, item in enumerate([{one}]) if number {self.pick('<', '>')} 1]",
            "words": f"plain(**{{'function': {one}}})",
            "compare": f"1 if {one} is None else {self.function(scope, 1)}()",
        }
        if kind in made:
            return made[kind]
        other = self.function(scope, 1)
        two = {
            "every": f"every({one}, {other})",
            "comprehension": f"[function() for function in ({one}, {other}) if {self.test(scope)}]",
            "conditional": f"{one}() if {self.test(scope)} else {other}()",
            "passed": f"passed({one}{self.pick('', ', 1', ', 2', ', rest=1', f', other={other}')})",
            "wide": f"Wide({one}, {other}).run()",
            "unknown": f"{self.pick(*UNKNOWN)} {self.pick('and', 'or')} {one}()",
            "and": f"{self.test(scope)} and {one}()",
            "or": f"{self.test(scope)} or {one}()",
        }
        return two[kind]

    def test(self, scope: Scope) -> str:
        """A condition that can be told without running anything."""
        options = [
            "True",
            "0",
            "1 == 2",
            "'a' in 'abc'",
            "not None",
            "() or 1",
            "1 < 2 < 3",
            "len('ab') == 1",
        ]
        options += scope.flags[-3:]
        options += [f"not {name}" for name in scope.flags[-1:]]
        return self.pick(*options)

    # -- statements ---------------------------------------------------------------------------------

    def block(self, scope: Scope, indent: int, most: int = 3) -> None:
        """Some statements, one at least."""
        for _ in range(1 + self.count(most - 1)):
            self.statement(scope, indent)

    def statement(self, scope: Scope, indent: int) -> None:
        """One statement."""
        kinds = ["value", "assign", "define", "if", "for", "call"]
        if scope.depth > 0:
            kinds += [
                "define",
                "class",
                "try",
                "with",
                "while",
                "match",
                "generator",
                "subclass",
                "loop",
                "maybe",
            ]
            kinds += ["metaclass", "descriptor", "enumeration", "setter", "closure"]
        if scope.in_function:
            kinds += ["return", "return"]
        if scope.in_loop:
            kinds += ["break", "continue"]
        if scope.can_raise:
            kinds.append("raise")
        getattr(self, f"_{self.pick(*kinds)}")(scope, indent)

    def _value(self, scope: Scope, indent: int) -> None:
        self.put(indent, self.value(scope))

    def _call(self, scope: Scope, indent: int) -> None:
        if scope.functions:
            self.put(indent, f"{self.pick(*scope.functions[-6:])}()")
        else:
            self.put(indent, self.sink())

    def _assign(self, scope: Scope, indent: int) -> None:
        if scope.depth > 0 and self.chance():
            name = self.fresh("FLAG")
            value = self.pick("True", "False")
            self.put(indent, f"{name} = {value}")
            if not scope.in_class:
                scope.flags.append(name)
            return
        kind = self.pick("plain", "pair", "attribute", "walrus", "subscript")
        name = self.fresh("held")
        one = self.function(scope)
        if kind == "plain":
            self.put(indent, f"{name} = {one}")
            self._known(scope, name)
        elif kind == "pair":
            other = self.fresh("held")
            self.put(indent, f"{name}, {other} = {one}, {self.function(scope, 1)}")
            self._known(scope, name)
            self._known(scope, other)
        elif kind == "attribute":
            self.put(indent, f"{name} = Holder(int)")
            self.put(indent, f"{name}.function = {one}")
            self._known(scope, f"{name}.function")
            self._known(scope, f"{name}.run")
        elif kind == "walrus":
            self.put(indent, f"({name} := {one})")
            self._known(scope, name)
        else:
            self.put(indent, f"{name} = {{}}")
            self.put(indent, f"{name}['a'] = {one}")
            self._known(scope, f"{name}['a']")

    @staticmethod
    def _known(scope: Scope, name: str) -> None:
        if not scope.in_class:
            scope.functions.append(name)

    def _define(self, scope: Scope, indent: int) -> None:
        name = self.fresh("function")
        decorator = self.pick("", "", "same", "later", "now", "factory", "anonymous")
        one = self.function(scope, 1)
        if decorator == "factory":
            self.put(indent, f"@factory({one})")
        elif decorator == "anonymous":
            self.put(indent, "@(lambda function: function)")
        elif decorator:
            self.put(indent, f"@{decorator}")
        parameter = self.pick("", "", "flag=True", "flag=False", "flag=None")
        default = self.fresh("argument") if self.chance() else ""
        parts = [part for part in (parameter, f"{default}={self.value(scope)}" if default else "") if part]
        header = ", ".join(parts)
        if scope.in_class:
            header = ", ".join(["self=None", *parts])
        self.put(indent, f"def {name}({header}):")
        inner = scope.inner(in_function=True, in_class=False, in_loop=False)
        if parameter:
            inner.flags.append("flag")
        self.block(inner, indent + 1)
        if self.chance():
            self.put(indent + 1, f"return {self.value(inner)}")
        if parameter and decorator != "now" and not scope.in_class and self.chance():
            argument = self.pick("True", "False", "flag=True", "flag=0")
            self.put(indent, f"{name}({argument})")
        self._known(scope, name)

    def _generator(self, scope: Scope, indent: int) -> None:
        name = self.fresh("steps")
        self.put(indent, f"def {name}({'self=None' if scope.in_class else ''}):")
        inner = scope.inner(in_function=True, in_class=False, in_loop=False)
        self.put(indent + 1, f"yield {self.value(inner)}")
        self.put(indent + 1, self.pick("yield 1", f"yield from steps({self.function(inner, 1)})"))
        if not scope.in_class:
            self.put(
                indent,
                self.pick(
                    f"{name}()",
                    f"list({name}())",
                    f"for step in {name}(): pass",
                    f"sum(1 for step in {name}())",
                ),
            )

    def _class(self, scope: Scope, indent: int) -> None:
        name = self.fresh("Class")
        if self.chance():
            self.put(indent, f"@{self.pick('same', f'factory({self.function(scope, 1)})')}")
        self.put(indent, f"class {name}:")
        inner = scope.inner(in_class=True, in_loop=False)
        inner.in_function = False
        self.block(inner, indent + 1, 2)
        method = self.pick("__init__", "ask", "__call__")
        self.put(indent + 1, f"def {method}(self):")
        body = scope.inner(in_function=True, in_class=False, in_loop=False)
        self.put(indent + 2, self.pick(self.value(body), self.value(body), "return None"))
        self._known(scope, name)
        if method != "__init__":
            self._known(scope, f"{name}().{method}")

    def _subclass(self, scope: Scope, indent: int) -> None:
        base, name = self.fresh("Base"), self.fresh("Class")
        body = scope.inner(in_function=True, in_class=False, in_loop=False)
        self.put(indent, f"class {base}:")
        hooks = ["__init_subclass__(cls)", "__init__(self)", "ask(self)"]
        hook = self.pick(*hooks, *([] if scope.in_class else ["__set_name__(self, owner, name)"]))
        self.put(indent + 1, f"def {hook}:")
        self.put(indent + 2, self.value(body))
        if hook.startswith("__set_name__"):
            self.put(indent, f"class {name}:")
            self.put(indent + 1, f"field = {base}()")
            return
        self.put(indent, f"class {name}({base}):")
        if hook == "__init__(self)" and self.chance():
            self.put(indent + 1, "def __init__(self):")
            self.put(indent + 2, "super().__init__()")
        else:
            self.put(indent + 1, "pass")
        self._known(scope, name)
        if hook == "ask(self)":
            self._known(scope, f"{name}().ask")

    def _if(self, scope: Scope, indent: int) -> None:
        self.put(indent, f"if {self.test(scope)}:")
        self.block(self._branch(scope), indent + 1, 2)
        if self.chance():
            self.put(indent, f"elif {self.test(scope)}:")
            self.block(self._branch(scope), indent + 1, 2)
        if self.chance():
            self.put(indent, "else:")
            self.block(self._branch(scope), indent + 1, 2)

    def _maybe(self, scope: Scope, indent: int) -> None:
        """A block that only running tells about; without an `else`, for siblings are judged together."""
        word = self.pick("if", "while")
        self.put(
            indent,
            f"{word} {self.pick(*(test for test, holds in UNKNOWN.items() if word == 'if' or not holds))}:",
        )
        self.block(scope.inner(in_loop=False), indent + 1, 2)
        self.put(indent + 1, "pass")

    def _metaclass(self, scope: Scope, indent: int) -> None:
        meta, name = self.fresh("Meta"), self.fresh("Class")
        body = scope.inner(in_function=True, in_class=False, in_loop=False)
        hook = self.pick(
            "__new__(mcs, name, bases, namespace)", "__init__(cls, name, bases, namespace)", "__call__(cls)"
        )
        self.put(indent, f"class {meta}(type):")
        self.put(indent + 1, f"def {hook}:")
        self.put(indent + 2, self.value(body))
        parent = "" if hook.startswith("__init__") else "return "
        arguments = {"__new__": "mcs, name, bases, namespace", "__init__": "name, bases, namespace"}.get(
            hook.split("(")[0], ""
        )
        self.put(indent + 2, f"{parent}super().{hook.split('(')[0]}({arguments})")
        self.put(indent, f"class {name}(metaclass={meta}):")
        self.put(indent + 1, "def __init__(self):")
        self.put(indent + 2, self.value(body))
        self._known(scope, name)

    def _descriptor(self, scope: Scope, indent: int) -> None:
        name = self.fresh("Class")
        self.put(indent, f"class {name}:")
        self.put(indent + 1, f"field = Given({self.function(scope, 1)})")
        self.put(indent + 1, "@property")
        self.put(indent + 1, "def asked(self):")
        self.put(
            indent + 2, f"return {self.value(scope.inner(in_function=True, in_class=False, in_loop=False))}"
        )
        if not scope.in_class:
            self.put(
                indent, self.pick(f"{name}.field", f"{name}().asked", f"{name}.asked", f"{name}().field")
            )
            scope.functions.append(f"(lambda: {name}().asked)")

    def _enumeration(self, scope: Scope, indent: int) -> None:
        name = self.fresh("Enum")
        self.put(indent, f"class {name}(enum.Enum):")
        self.put(indent + 1, "ONE = 1")
        self.put(indent + 1, f"TWO = {self.pick('2', self.sink())}")
        self.put(indent + 1, "def ask(self):")
        self.put(indent + 2, "if self is type(self).ONE:")
        self.put(
            indent + 3, f"return {self.value(scope.inner(in_function=True, in_class=False, in_loop=False))}"
        )
        if not scope.in_class:
            scope.functions.append(f"{name}.ONE.ask")
            scope.functions.append(f"{name}.TWO.ask")

    def _setter(self, scope: Scope, indent: int) -> None:
        name, held = self.fresh("Class"), self.fresh("object")
        body = scope.inner(in_function=True, in_class=False, in_loop=False)
        self.put(indent, f"class {name}:")
        self.put(indent + 1, "@property")
        self.put(indent + 1, "def field(self):")
        self.put(indent + 2, f"return {self.value(body)}")
        self.put(indent + 1, "@field.setter")
        self.put(indent + 1, "def field(self, value):")
        self.put(indent + 2, self.value(body))
        if not scope.in_class:
            self.put(indent, f"{held} = {name}()")
            self.put(indent, self.pick(f"{held}.field = 1", f"{held}.field"))

    def _closure(self, scope: Scope, indent: int) -> None:
        outer, held = self.fresh("function"), self.fresh("held")
        self.put(indent, f"def {outer}({'self=None' if scope.in_class else ''}):")
        inner = scope.inner(in_function=True, in_class=False, in_loop=False)
        self.put(indent + 1, f"{held} = {self.function(inner, 1)}")
        self.put(indent + 1, "def change():")
        self.put(indent + 2, f"nonlocal {held}")
        self.put(indent + 2, f"{held} = {self.function(inner, 1)}")
        if self.chance():
            self.put(indent + 1, "change()")
        self.put(indent + 1, f"return {held}()")
        self._known(scope, outer)

    def _branch(self, scope: Scope) -> Scope:
        return scope.inner()

    def _for(self, scope: Scope, indent: int) -> None:
        name = self.fresh("item")
        self.put(indent, f"for {name} in ({self.function(scope, 1)}, {self.function(scope, 1)}):")
        inner = scope.inner(in_loop=True)
        inner.functions.append(name)
        if scope.in_class:
            self.put(indent + 1, f"{name}()")
        else:
            self.block(inner, indent + 1, 2)
        if self.chance():
            self.put(indent, "else:")
            self.block(self._branch(scope), indent + 1, 1)

    def _loop(self, scope: Scope, indent: int) -> None:
        source = self.pick(
            "range(2)", "[]", "'ab'", "()", "{1: 2}", "Holder(int)", f"Holder({self.function(scope, 1)})"
        )
        self.put(indent, f"for {self.fresh('number')} in {source}:")
        self.block(scope.inner(in_loop=True), indent + 1, 2)

    def _while(self, scope: Scope, indent: int) -> None:
        self.put(indent, f"while {self.pick('True', 'False', '1 > 0')}:")
        self.block(scope.inner(in_loop=False), indent + 1, 2)
        self.put(indent + 1, "break")

    def _try(self, scope: Scope, indent: int) -> None:
        self.put(indent, "try:")
        self.block(scope.inner(can_raise=True), indent + 1, 2)
        self.put(indent, f"except {self.pick('ValueError', 'Exception', '(KeyError, ValueError)')}:")
        self.block(self._branch(scope), indent + 1, 1)
        if self.chance():
            self.put(indent, "else:")
            self.block(self._branch(scope), indent + 1, 1)
        if self.chance():
            self.put(indent, "finally:")
            inner = self._branch(scope)
            inner.in_loop = inner.in_function = False
            self.block(inner, indent + 1, 1)

    def _with(self, scope: Scope, indent: int) -> None:
        one = self.function(scope, 1)
        self.put(indent, f"with {self.pick(f'Holder({one})', f'around({one})', 'contextlib.nullcontext()')}:")
        self.block(self._branch(scope), indent + 1, 2)

    def _match(self, scope: Scope, indent: int) -> None:
        self.put(indent, f"match {self.pick('1', '2', repr('a'))}:")
        self.put(indent + 1, "case 1:")
        self.block(self._branch(scope), indent + 2, 1)
        self.put(indent + 1, f"case {self.pick('_', '2', '2 | 3')}:")
        self.block(self._branch(scope), indent + 2, 1)

    def _return(self, scope: Scope, indent: int) -> None:
        if self.chance():
            self.put(indent, f"return {self.value(scope)}")
        else:
            self.put(indent, f"if {self.test(scope)}:")
            self.put(indent + 1, f"return {self.value(scope)}")

    def _break(self, scope: Scope, indent: int) -> None:
        self.put(indent, f"if {self.test(scope)}:")
        self.put(indent + 1, "break")

    def _continue(self, scope: Scope, indent: int) -> None:
        self.put(indent, f"if {self.test(scope)}:")
        self.put(indent + 1, "continue")

    def _raise(self, scope: Scope, indent: int) -> None:
        self.put(indent, f"if {self.test(scope)}:")
        self.put(indent + 1, f"raise {self.pick('ValueError', 'ValueError(1)')}")


@st.composite
def programs(draw: Draw) -> str:
    """Source text of a module."""
    writer = Writer(draw)
    scope = Scope(depth=3, functions=[], flags=[])
    for _ in range(1 + draw(st.integers(0, 5))):
        writer.statement(scope, 0)
    return PRELUDE + "\n".join(writer.lines) + "\n"
