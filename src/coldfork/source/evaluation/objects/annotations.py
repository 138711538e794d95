"""Annotations that wait until somebody reads them (PEP 649), from Python 3.14 on."""

from __future__ import annotations

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.names import class_value
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import NO_PARAMETERS, Code, Node, code_of
from coldfork.source.values.kinds import Bound, ClassRef, Function, Value

#: The function in which Python keeps the annotations of a class or function.
ANNOTATE = "__annotate__"


def read_annotations(ev: Interpreter, frame: Frame, value: Value) -> None:
    """Evaluate the annotations of a class or function as Python does for who asks for them."""
    if isinstance(value, ClassRef):
        annotate = class_value(ev, value, ANNOTATE)
        if isinstance(annotate, Function):
            ev.call(frame, annotate)
        return
    function = value.function if isinstance(value, Bound) else value
    if isinstance(function, Function) and function.module.summary.deferred:
        code = ev.definitions.code_of(function)
        if code is not None:
            name = f"{function.name}.{ANNOTATE}"
            evaluated = _evaluated(ev, code, name)
            ev.call(frame, Function(function.module, code.line, name, evaluated, function.env))


def _evaluated(ev: Interpreter, code: Code, name: str) -> Code:
    every = [annotation for _, annotation in code.annotations]
    every += [code.returns] if code.returns is not None else []
    block = tuple([(nodes.EXPR, code.line, code.line, one) for one in every])
    node: Node = (NO_PARAMETERS, block, False, False, name, code.line, None, ())
    return ev.definitions.code_for(node, code_of)
