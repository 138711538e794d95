"""Calls functions that a module offers: commands, and functions that start processes or choose how to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from coldfork.model.effects import EffectKind, StepKind
from coldfork.source.evaluation.calls.argument_binding import unknown_arguments
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.starting import note_start
from coldfork.source.evaluation.trace import Link, Start
from coldfork.source.program.module import Defined, Module, defined, holding
from coldfork.source.program.program import Program
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Binding, Class, Code, Node, code_of, last_name
from coldfork.source.syntax.walk import walk
from coldfork.source.values.kinds import Bound, ClassRef, Function, Instance, Value


def call(ev: Interpreter, frame: Frame) -> None:
    """Call each function that the module offers with unknown arguments, each as if it were called first."""
    mark, kept = ev.journal.mark(), dict(ev.environment.values)
    sites, edges, must = len(frame.sites), len(frame.site_edges), set(frame.must)
    conditions, stays = frame.conditions, frame.stays
    frame.site_starts.clear()  # processes that the module body starts are reported with the module's import
    for one in _offered(frame.module):
        ev.budget.begin_call(ev.program.hurried)
        try:
            _call(ev, frame, one)
        except Raised:
            pass
        ev.journal.forget(mark)
        ev.environment.begin(kept)
        del frame.sites[sites:], frame.site_edges[edges:]
        frame.must, frame.conditions, frame.stays = set(must), conditions, stays


def _call(ev: Interpreter, frame: Frame, one: Defined) -> None:
    owner = None if one.owner is None else ev.definitions.class_ref(frame.module, one.owner, None, "")
    function = ev.definitions.function(frame.module, one.node, None, owner)
    code = ev.definitions.code_of(function)
    if code is None:
        return
    frame.at(function.line, function.line)
    frame.symbol = function.qualified
    _note_choice(ev, frame, code)
    # Only the program itself calls functions of a script, so an argument that these calls omit has its
    # default.
    script = frame.module.outline.is_program and "." not in frame.module.plain
    given, keywords = unknown_arguments(code.parameters, optional=not script)
    if owner is not None and given and (receiver := _receiver(function, owner, one.node)) is not None:
        given = (receiver, *given[1:])
    ev.call(frame, function, given, keywords)


def _note_choice(ev: Interpreter, frame: Frame, code: Code) -> None:
    """Record that a function uses a flag to choose the start method, if it does."""
    asked = asked_by(ev.program, frame.module, code) if frame.module.outline.asking else None
    if asked is not None:
        line, frame.line = frame.line, asked.line
        end = Link(StepKind.SINK, asked.flag, None, None, None)
        note_start(frame, Start(EffectKind.CHOOSES_START_METHOD, "", "", asked.flag, (), (), end))
        frame.line = line


def _receiver(function: Function, owner: ClassRef, node: Node) -> Value | None:
    """Return the object to call a method on; None for a static method."""
    decorated = {last_name(nodes.called(decorator)) for decorator, _ in nodes.decorators_of(node)}
    if "staticmethod" in decorated:
        return None
    if "classmethod" in decorated or function.name == "__new__":
        return owner
    return Instance(owner, open_=function.name != "__init__")


def _offered(module: Module) -> list[Defined]:
    """Return the top-level functions and methods of a module that mention processes or create data
    loaders.
    """
    functions, outline = defined(module), module.outline
    choosing = holding(functions, outline.choosing)
    found = holding(functions, outline.deciding)
    found += [one for one in holding(functions, outline.asking) if one in choosing and one not in found]
    return [*found, *(one for one in functions if one not in found and _makes_a_loader(one))]


def _makes_a_loader(one: Defined) -> bool:
    """Return whether a function makes an object of a class derived from a data loader."""
    bases = () if one.owner is None or one.name != "__init__" else Class._make(one.owner).bases
    return any((last_name(base) or "").endswith("DataLoader") for base in bases)


def call_command(ev: Interpreter, frame: Frame, dotted: str) -> None:
    """Call the named function of a module after the module body has run.

    If a command line library has replaced the function, it is called with the arguments that the library
    parses.
    """
    name, *attributes = dotted.split(".")
    value = ev.global_value(frame, name)
    for attribute in attributes:
        value = ev.attribute(frame, value, attribute)
    written = None if attributes else _written(ev, frame, name)
    if isinstance(value, Function):
        frame.at(value.line, value.line)
    elif written is not None:
        frame.at(written.line, written.line)
    frame.symbol = dotted
    function = value if isinstance(value, Function) else written
    if isinstance(value, Bound) or function is None:
        ev.call(frame, value)
        return
    # A parser passes all values, so parameters with a default are unknown too; an installed script passes
    # none.
    code = ev.definitions.code_of(function)
    given, keywords = ((), {}) if code is None else unknown_arguments(code.parameters, function is not value)
    ev.call(frame, function, given, keywords)


def _written(ev: Interpreter, frame: Frame, name: str) -> Function | None:
    """Return the function before its decorators are applied."""
    entries = frame.module.summary.binds.get(name, ())
    for how, payload, _line, _guards in reversed(entries):
        if how == nodes.BY_DEF:
            return ev.definitions.function(frame.module, payload, None, None)
    return None


#: Flags that are set once a framework has made a context, but not if other code has merely woken the driver.
_FLAGS = {"is_initialized": ("cuda", "xpu"), "_is_in_bad_fork": ("cuda", "xpu")}
_CHOOSING = frozenset({"set_start_method", "get_context"})
_METHODS = frozenset({"fork", "spawn", "forkserver"})
_VARIABLE = re.compile(r"(?:MULTIPROC|START)_METHOD")
#: Names of tests that also detect a woken driver, or that are true on any host with a device.
_KNOWING = re.compile(r"driver|cuinit|getcount|get_count|is_available|device_count", re.IGNORECASE)


class Asked(NamedTuple):
    """The flag that a call tests, and the line of the call."""

    line: int
    flag: str


def asked_by(program: Program, module: Module, function: Code) -> Asked | None:
    """Return the framework flag that a function tests to choose the start method; None if there is no such
    test, or it also tests the driver.
    """
    inside = list(walk(function.block))
    if not any(map(_chooses, inside)):
        return None
    idle = {call for node in inside for call in _idle(node)}
    calls = [node for node in inside if node[0] == nodes.CALL and nodes.place_of(node) not in idle]
    if any(_KNOWING.search(last_name(nodes.called(call)) or "") for call in calls):
        return None
    asked = (found for call in calls if (found := _asked(program, module, call)) is not None)
    return next(asked, None)


def _chooses(node: Node) -> bool:
    match node:
        case (nodes.CALL, function, *_):
            return last_name(function) in _CHOOSING
        case (nodes.TO_INDEX, owner, (nodes.CONST, str(variable)), _):
            return last_name(owner) == "environ" and _VARIABLE.search(variable) is not None
        case (nodes.RETURN, _, (nodes.CONST, method), *_):
            return method in _METHODS
        case (nodes.IFEXP, _, (nodes.CONST, one), (nodes.CONST, other), *_):
            return one in _METHODS and other in _METHODS
    return False


def _idle(node: Node) -> Iterator[tuple[int, int, int]]:
    """Yield the places of calls in the test of an `if` whose blocks only call PyTorch."""
    if node[0] != nodes.IF:
        return
    _, _, test, body, orelse, _ = node
    if all(map(_calls_torch, (*body, *orelse))):
        yield from (nodes.place_of(one) for one in walk((test,)) if one[0] == nodes.CALL)


def _calls_torch(statement: Node) -> bool:
    match statement:
        case (nodes.EXPR, _, _, (nodes.CALL, _, *_) as call):
            function = nodes.called(call)
            while function[0] == nodes.ATTR:
                _, function, *_ = function
            return last_name(function) == "torch"
    return False


def _asked(program: Program, module: Module, call: Node) -> Asked | None:
    """Return the flag that a call tests, directly or through a function of the program; None if it tests no
    flag.
    """
    line, _, _ = nodes.place_of(call)
    function = nodes.called(call)
    flag = _flag(function)
    if not flag and function[0] == nodes.NAME:
        flag = _through(program, module, str(last_name(function)))
    return Asked(line, flag) if flag else None


def _flag(function: Node) -> str:
    match function:
        case (nodes.ATTR, (nodes.ATTR, _, device, _), name, _) if device in _FLAGS.get(name, ()):
            return f"torch.{device}.{name}()"
    return ""


def _through(program: Program, module: Module, name: str) -> str:
    """Return the flag that a function of the checked code tests; empty if it also tests the driver."""
    for entry in module.summary.binds.get(name, ()):
        how, payload, _line, _guards = Binding._make(entry)
        if how == nodes.BY_FROM:
            base, level, imported = payload
            source = program.module(module.absolute(base, level) or "")
            return "" if source is None or source is module else _through(program, source, imported)
        if how == nodes.BY_DEF and (code := _code(program, module, payload)) is not None:
            calls = [node for node in walk(code.block) if node[0] == nodes.CALL]
            if any(_KNOWING.search(last_name(nodes.called(call)) or "") for call in calls):
                return ""
            return next(filter(None, (_flag(nodes.called(call)) for call in calls)), "")
    return ""


def _code(program: Program, module: Module, definition: Node) -> Code | None:
    _, line, _name, _decorators, _header, raw = definition
    return program.code_at(module, line) if raw is None else code_of(raw)
