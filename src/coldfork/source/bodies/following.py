"""Follows a call of one function, and finds the accelerators that the call is certain to touch."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from coldfork.knowledge import catalogue
from coldfork.knowledge.known import Known
from coldfork.model.effects import PROFILES, EffectKind
from coldfork.source.bodies.handling import error_leaves
from coldfork.source.bodies.question import GivenValues, Question
from coldfork.source.bodies.writers import WrittenNames
from coldfork.source.evaluation.calls.unknown_code import UnknownCode
from coldfork.source.evaluation.evaluator import Evaluator
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.objects.protocols import iterate
from coldfork.source.evaluation.trace import Link, Site
from coldfork.source.files.finder import Finder
from coldfork.source.files.site_packages import Distributions, versions
from coldfork.source.program.loader import Loader
from coldfork.source.program.program import Program
from coldfork.source.syntax.lowering.blocks import lower_function
from coldfork.source.syntax.lowering.context import Context
from coldfork.source.syntax.lowering.expressions import lower_expression
from coldfork.source.syntax.nodes import NO_PARAMETERS, Code, code_of
from coldfork.source.values.kinds import (
    UNKNOWN,
    Bound,
    ClassRef,
    Env,
    Function,
    Keywords,
    Value,
    Values,
)

_FRAMEWORKS = ("torch",)
"""Libraries whose calls certainly raise in a forked child; calls to other libraries may succeed there."""
_OF_THE_MOMENT = (
    "initialized", "bad_fork", "badfork", "is_torchelastic_launched", "is_scripting", "is_tracing",
)  # fmt: skip
_COUNTING = ("is_available()", "device_count()", "DeviceCount()")


@dataclass(frozen=True, slots=True)
class Touch:
    """An accelerator that a function is certain to touch, and the path to the call that touches it."""

    accelerator: str
    call: str
    """The call that touches the accelerator, such as `torch.zeros`."""
    steps: tuple[tuple[str, int, str], ...]
    """The path to the call: file, line and function, outermost first."""


class _Step(NamedTuple):
    module: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The accelerators that a function is certain to touch, and the files that this result depends on."""

    touches: tuple[Touch, ...]
    files: tuple[str, ...]


def read_body(question: Question) -> Reading:
    """Return the accelerators that a call of a function with unknown arguments is certain to touch.

    A touch is certain if every run that completes includes it, and if the error that it causes in a forked
    child leaves the function.
    """
    program = _program(question)
    ev = Evaluator(program)
    module = program.module(question.module)
    if module is None:
        raise NotFound(f"the source of {question.module} is missing")
    source = program.read_source(question.file)
    tree = ast.parse(source)
    definition = definition_of(tree, source, question.function, question.line, question.code)
    code = lowered(definition)

    unknown_code = UnknownCode(ev, WrittenNames(program, question.modules))
    values = GivenValues(partial(_class, ev, program), partial(_function, program))

    def run(frame: Frame) -> None:
        unknown_code.know(*_give_classes(ev, program, question, values))
        frame.at(question.line, question.line)
        callee, arguments = _callee(ev, program, question, code, values)
        unknown_code.know(*values.objects)
        value = ev.call(frame, callee, *arguments)
        if question.iterated:
            ev.first_yield_only = True
            iterate(ev, frame, value)

    given = {
        (name, variable): value
        for name, variables in question.modules.items()
        for variable, value in values.all_of(variables).items()
    }
    sites = ev.run_body(module, run, dict(os.environ), given, unknown_code)
    trees: dict[str, ast.Module] = {question.module: tree}
    found = tuple(_certain(program, sites, trees))
    return Reading(found, tuple(one.path for one in program.loaded()))


def read_library(library: str, search: Iterable[str], profile: str, **_: object) -> Reading:
    """Return the accelerators that a call of a library function touches, whatever its arguments."""
    facts = catalogue.load(PROFILES[profile], versions(tuple(map(Path, search)))).call(library)
    sure = [
        Touch(fact.accelerator, fact.symbol, ())
        for fact in facts
        if fact.does is EffectKind.CREATES_CONTEXT
        and not (fact.condition or fact.presumes or fact.unless_env or fact.argument or fact.unless_argument)
    ]
    return Reading(tuple(sure), ())


def _program(question: Question) -> Program:
    search = tuple(Path(folder) for folder in question.search)
    profile = PROFILES[question.profile]
    known = catalogue.load(profile, versions(search))
    known = replace(known, values={name: one for name, one in known.values.items() if _lasts(name, question)})
    loader = Loader(question.version, jobs=1, remembering=False)
    # Libraries are not followed: their effects are in the catalogue, or are uncertain.
    finder = Finder(question.roots, (), {**question.files, question.module: question.file})
    return Program(finder, loader, Known("", lambda: known), profile, question.version, Distributions(search))


def _lasts(name: str, question: Question) -> bool:
    """Return whether a value that was known when the program was imported is still the same in a forked
    child.
    """
    if any(word in name.lower() for word in _OF_THE_MOMENT):
        return False
    # PyTorch counts the devices once. A child forked before its parent has counted them finds none.
    return question.counted or not any(word in name for word in _COUNTING)


def _give_classes(
    ev: Evaluator, program: Program, question: Question, values: GivenValues
) -> Iterator[ClassRef]:
    """Set on each class the attributes that it has in the running process, and yield the class."""
    for module, classes in question.classes.items():
        for qualified, attributes in classes.items():
            cls = _class(ev, program, module, qualified)
            if cls is not None and attributes:
                cls.outside = values.all_of(attributes)
                yield cls


def _callee(
    ev: Evaluator, program: Program, question: Question, code: Code, values: GivenValues
) -> tuple[Value, tuple[Values, Keywords]]:
    """Return the function, bound to its object if it has one, and arguments for its other parameters."""
    module = program.module(question.module)
    assert module is not None
    within, _, name = question.function.rpartition(".")
    owner = _class(ev, program, question.module, within) if within else None
    env = Env()
    env.names = values.all_of(question.closure)
    function = Function(module, code.line, name, code, env if question.closure else None, owner)
    handed = values.all_of(question.arguments or {})
    arguments = tuple([handed.get(name, UNKNOWN) for name in code.parameters.positional])
    if question.owner is None:
        return function, (arguments, {})
    cls = _class(ev, program, *question.owner)
    receiver = UNKNOWN if cls is None else values.instance(cls, question.attributes)
    return Bound(function, receiver), (arguments[1:], {})


def _class(ev: Evaluator, program: Program, module: str, qualified: str) -> ClassRef | None:
    """Return a class of a module; None for a class inside a function."""
    state = program.module(module)
    if state is None or "<" in qualified:
        return None
    frame = Frame(state, None)
    frame.quiet = True
    first, *others = qualified.split(".")
    value = ev.global_value(frame, first)
    for name in others:
        value = ev.attribute(frame, value, name)
    return value if isinstance(value, ClassRef) else None


def _function(program: Program, module: str, qualified: str, line: int, code: str, env: Env) -> Value:
    """Return the function at a place in the source; unknown if its code in the process differs from the
    source.
    """
    state = program.module(module)
    if state is None:
        return UNKNOWN
    source = program.read_source(state.path)
    try:
        definition = definition_of(ast.parse(source), source, qualified, line, code)
    except (NotFound, SyntaxError):
        return UNKNOWN
    name = qualified.rpartition(".")[2]
    return Function(state, line, name, _code(definition), env if env.names else None)


def _certain(program: Program, sites: tuple[Site, ...], trees: dict[str, ast.Module]) -> Iterator[Touch]:
    told: set[str] = set()
    for site in sites:
        wake = site.wake
        if not site.certain or wake.presumed or wake.kind is not EffectKind.CREATES_CONTEXT:
            continue
        steps, call = _way(wake.link)
        if call.partition(".")[0] not in _FRAMEWORKS or wake.accelerator in told:
            continue
        if all(_leaves(program, step, trees, first=not number) for number, step in enumerate(steps)):
            told.add(wake.accelerator)
            places = ((_path(program, step.module), step.line, step.function) for step in steps)
            yield Touch(wake.accelerator, call, tuple(places))


def _way(link: Link) -> tuple[list[_Step], str]:
    """Return the functions along the path, except the first, which stands for the process; and the
    last call.
    """
    steps: list[_Step] = []
    at: Link | None = link.following
    call = ""
    while at is not None:
        if at.module is None or at.line is None:
            call = at.symbol
        else:
            steps.append(_Step(at.module, at.line, at.symbol))
        at = at.following
    return steps, call


def _leaves(program: Program, step: _Step, trees: dict[str, ast.Module], *, first: bool) -> bool:
    tree = trees.get(step.module)
    if tree is None:
        tree = trees[step.module] = ast.parse(program.read_source(_path(program, step.module)))
    return error_leaves(tree, step.line, called_by_name=not first)


def _path(program: Program, name: str) -> str:
    module = program.module(name)
    return "" if module is None else module.path


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class NotFound(Exception):
    """Raised with the reason why a function cannot be followed."""


class _Named(NamedTuple):
    name: str
    node: Definition


def definition_of(tree: ast.Module, source: bytes, qualified: str, line: int, code: str) -> Definition:
    """Return the node of the function with this qualified name whose code begins at this line."""
    named = [one.node for one in _functions(tree, "") if one.name == qualified]
    found = [node for node in named if _first_line(node) == line]
    if len(found) != 1:
        raise NotFound(f"line {line} defines no function {qualified}, or more than one")
    compiled = compile(source, "<body>", "exec", dont_inherit=True)
    if not any(one.co_code.hex() == code for one in _codes(compiled, qualified, line)):
        raise NotFound(f"the source of {qualified} differs from what the process has loaded")
    return found[0]


def lowered(node: Definition) -> Code:
    """Return the code of a function with all its parameters made positional, so that a caller can pass each
    one.
    """
    code = _code(node)
    given = code.parameters
    more = [name for name in (given.star, given.double_star) if name is not None]
    every = (*given.positional, *given.keyword_only, *more)
    return code._replace(parameters=NO_PARAMETERS._replace(positional=every))


def _code(node: Definition) -> Code:
    context = Context()
    if isinstance(node, ast.Lambda):
        _, raw = lower_expression(context, node)
        return code_of(raw)
    return code_of(lower_function(context, node))


def _functions(node: ast.AST, within: str) -> Iterator[_Named]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield _Named(f"{within}{name}", child)
                yield from _functions(child, f"{within}{name}.<locals>.")
            case ast.Lambda():
                yield _Named(f"{within}<lambda>", child)
                yield from _functions(child, f"{within}<lambda>.<locals>.")
            case ast.ClassDef(name=name):
                yield from _functions(child, f"{within}{name}.")
            case _:
                yield from _functions(child, within)


def _first_line(node: Definition) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(one.lineno for one in decorators)])


def _codes(code: CodeType, qualified: str, line: int) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_qualname == qualified and one.co_firstlineno == line:
                yield one
            yield from _codes(one, qualified, line)
