"""Call the functions of a module that start processes, or say how they start, as anybody might call them."""

from __future__ import annotations

from coldfork.model.chains import StepKind
from coldfork.model.effects import EffectKind
from coldfork.source.evaluation.calls.argument_binding import unknown_arguments
from coldfork.source.evaluation.calls.flags import asked_by
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.starting import note_start
from coldfork.source.evaluation.trace import Link, Start
from coldfork.source.program.defined_functions import Defined, defined, holding
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Class, Code, Node, last_name
from coldfork.source.values.kinds import ClassRef, Function, Instance, Value


def call(ev: Interpreter, frame: Frame) -> None:
    """Call each of them with unknown arguments, as if no other had been called before."""
    mark, kept = ev.journal.mark(), dict(ev.environment.values)
    sites, edges, must = len(frame.sites), len(frame.site_edges), set(frame.must)
    conditions, stays = frame.conditions, frame.stays
    frame.site_starts.clear()  # those of the body are told of where it is imported
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
    # Nobody but the program itself calls the functions of a script: what it leaves out is what it says.
    script = frame.module.outline.is_program and "." not in frame.module.plain
    given, keywords = unknown_arguments(code.parameters, optional=not script)
    if owner is not None and given and (receiver := _receiver(function, owner, one.node)) is not None:
        given = (receiver, *given[1:])
    ev.call(frame, function, given, keywords)


def _note_choice(ev: Interpreter, frame: Frame, code: Code) -> None:
    """Note that a function chooses how processes start by a flag."""
    asked = asked_by(ev.program, frame.module, code) if frame.module.outline.asking else None
    if asked is not None:
        line, frame.line = frame.line, asked.line
        end = Link(StepKind.SINK, asked.flag, None, None, None)
        note_start(frame, Start(EffectKind.CHOOSES_START_METHOD, "", "", asked.flag, (), (), end))
        frame.line = line


def _receiver(function: Function, owner: ClassRef, node: Node) -> Value | None:
    """What a method is called of; None for a static one."""
    decorated = {last_name(nodes.called(decorator)) for decorator, _ in nodes.decorators_of(node)}
    if "staticmethod" in decorated:
        return None
    if "classmethod" in decorated or function.name == "__new__":
        return owner
    return Instance(owner, open_=function.name != "__init__")


def _offered(module: Module) -> list[Defined]:
    """The functions and methods at the top of a module that hold a word about processes, or make loaders."""
    functions, outline = defined(module), module.outline
    choosing = holding(functions, outline.choosing)
    found = holding(functions, outline.deciding)
    found += [one for one in holding(functions, outline.asking) if one in choosing and one not in found]
    return [*found, *(one for one in functions if one not in found and _makes_a_loader(one))]


def _makes_a_loader(one: Defined) -> bool:
    """Whether a function makes an object of a class that derives from one of loaders."""
    bases = () if one.owner is None or one.name != "__init__" else Class._make(one.owner).bases
    return any((last_name(base) or "").endswith("DataLoader") for base in bases)
