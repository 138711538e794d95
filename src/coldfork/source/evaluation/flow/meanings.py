"""The meaning of a test, however it is written: tests with the same meaning have the same outcome.

Only an expression that does not depend on the call being followed has a meaning: constants, module variables
that are bound once, and calls with such arguments. For a call, the meaning also says whether the answer can
change during the life of the process. It cannot change if the machine or the environment decides it, or if a
function of the program only asks for such answers; for any other call this is unknown.
"""

from __future__ import annotations

import ast

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Binding, Block, Code, Node
from coldfork.source.syntax.walk import children, walk
from coldfork.source.values.conditions import Meaning, is_settled
from coldfork.source.values.kinds import ClassRef, Const, Env, External, Function, ModuleRef, Value

_DENIALS = {"!=": "==", "is not": "is", "not in": "in"}
#: Functions and variables whose values stay the same for the life of a process. A name that ends in a dot
#: covers everything below it.
_LASTING = (
    "platform.", "sys.", "os.name", "os.uname", "os.cpu_count", "os.getenv", "os.environ", "shutil.which",
    "importlib.util.find_spec", "importlib.metadata.version", "torch.version.", "torch.__version__",
    "torch.cuda.is_available", "torch.cuda.device_count", "builtins.bool", "builtins.int",
    "builtins.isinstance", "builtins.len", "builtins.str",
)  # fmt: skip
_FIND_SPEC = "importlib.util.find_spec"
_NONE = ("constant", "NoneType", "None")
_DEEPEST = 6
_PLAIN = frozenset({nodes.RETURN, nodes.IF, nodes.EXPR, nodes.ASSIGN, nodes.RAISE})
#: Expressions whose outcome cannot change if that of their parts cannot.
_DERIVED = frozenset({nodes.COMPARE, nodes.NOT, nodes.BOOL, nodes.IFEXP})


def meaning(ev: Interpreter, frame: Frame, node: Node) -> Meaning | None:
    """Return the question that an expression answers; None if the answer depends on the current call."""
    return _Reading(ev).expression(frame, node)


class _Reading:
    """Works out the meaning of one test."""

    def __init__(self, ev: Interpreter) -> None:
        self.ev = ev
        self.left = 40
        """How many more nodes to examine before giving up."""
        self.depth = 0

    def expression(self, frame: Frame, node: Node) -> Meaning | None:
        self.left -= 1
        if self.left < 0:
            return None
        match node:
            case (nodes.CONST, value):
                return "constant", type(value).__name__, repr(value)
            case (nodes.NAME, name, _):
                return self.name(frame, name)
            case (nodes.NOT, operand):
                inner = self.expression(frame, operand)
                return ("not", inner) if inner is not None else None
            case (nodes.BOOL, is_and, values, *_):
                return _combined(is_and, [self.expression(frame, part) for part in values])
            case (nodes.COMPARE, left, (operator,), (right,)):
                return self.comparison(frame, operator, left, right)
            case (nodes.ATTR, owner, attribute, _):
                return self.attribute(frame, owner, attribute)
            case (nodes.CALL, function, positional, keywords, *_):
                return self.call(frame, function, positional, keywords)
            case (nodes.INDEX, owner, index, _):
                parts = self.all_of(frame, (owner, index))
                return ("item", *parts) if parts and is_settled(parts[0]) else None
        return None

    def all_of(self, frame: Frame, parts: tuple[Node, ...]) -> tuple[Meaning, ...] | None:
        found = []
        for part in parts:
            one = self.expression(frame, part)
            if one is None:
                return None
            found.append(one)
        return tuple(found)

    def comparison(self, frame: Frame, operator: str, left: Node, right: Node) -> Meaning | None:
        parts = self.all_of(frame, (left, right))
        if parts is None:
            return None
        if operator in (
            "is",
            "is not",
        ):  # an object may change, but `is` only compares its identity
            parts = tuple([("variable", True, *one[2:]) if one[0] == "variable" else one for one in parts])
        denied = _DENIALS.get(operator)
        first, second = parts
        kind, *_ = first
        if kind == "installed" and second == _NONE:
            return ("not", first) if denied is None else first
        return ("not", (denied, *parts)) if denied is not None else (operator, *parts)

    # -- names --------------------------------------------------------------------------------------

    def name(self, frame: Frame, name: str) -> Meaning | None:
        env = None if frame.toplevel else frame.env
        while env is not None:
            if name in env.names:
                return _of_value(env.names[name])
            env = env.outer
        return self.variable(frame, frame.module, name)

    def variable(self, frame: Frame, module: Module, name: str) -> Meaning | None:
        """Return the meaning of a module variable: that of its value if this cannot change, else the variable
        itself.
        """
        entries = [Binding._make(one) for one in module.summary.binds.get(name, ())]
        entries = [one for one in entries if one.how != nodes.BY_TYPE]
        if len(entries) > 1 or name in module.summary.rebound:
            return None
        if not entries or entries[0].how != nodes.BY_VALUE:
            known = _of_value(self.ev.quietly(module, None, (nodes.NAME, name, 0)))
            if not entries or known is not None:
                return known
            if entries[0].how != nodes.BY_FROM:
                return "variable", False, module.name, name
            source, level, imported = entries[0].payload
            origin = self.ev.program.module(module.absolute(source, level))
            if origin is None or imported not in origin.summary.binds or self.depth > _DEEPEST:
                return None
            self.depth += 1
            found = self.variable(frame, origin, imported)
            self.depth -= 1
            return found
        settled = entries[0].payload[0] in (*_DERIVED, nodes.CALL) and self.is_lasting(module, entries[0])
        return "variable", settled, module.name, name

    def is_lasting(self, module: Module, entry: Binding) -> bool:
        """Return whether a variable holds the outcome of a test, and not an object that may change."""
        if entry.payload[0] != nodes.CALL:
            return entry.payload[0] in (nodes.COMPARE, nodes.NOT) or all(
                part[0] in _DERIVED for part in children(entry.payload)
            )
        self.depth += 1
        found = self.expression(Frame(module, None), entry.payload) if self.depth <= _DEEPEST else None
        self.depth -= 1
        return found is not None and is_settled(found)

    def attribute(self, frame: Frame, owner: Node, attribute: str) -> Meaning | None:
        held = self.expression(frame, owner)
        if held is None:
            return None
        if held[0] == "module":
            _, name = held
            module = self.ev.program.module(name)
            return self.variable(frame, module, attribute) if module is not None else None
        return _external(f"{held[2]}.{attribute}") if held[0] == "external" else None

    # -- calls --------------------------------------------------------------------------------------

    def call(
        self,
        frame: Frame,
        callee: Node,
        positional: tuple[Node, ...],
        keywords: tuple[tuple[str | None, Node], ...],
    ) -> Meaning | None:
        given = self.all_of(frame, (*positional, *[value for _, value in keywords]))
        if given is None:
            return None
        named = ("names", *[name or "**" for name, _ in keywords])
        function = self.function(frame, callee)
        if function is None:
            held = self.expression(frame, callee)
            if held is None or held[0] != "external":
                return None
            match given:
                case ((_, "str", written),) if held[2] == _FIND_SPEC:
                    return "installed", ast.literal_eval(written)
            return "call", held[1], str(held[2]), named, *given
        code = self.ev.definitions.code_of(function)
        if code is None or function.env is not None or code.is_generator or code.is_async:
            return None
        names = code.parameters.positional
        plain = all(one[0] == "constant" for one in given) and len(given) == len(names) and not keywords
        returned = _returned(code.block) if plain and self.depth < _DEEPEST else None
        if returned is not None:
            self.depth += 1
            inner = Frame(function.module, Env())
            assert inner.env is not None
            inner.env.names = {
                name: Const(ast.literal_eval(one[2])) for name, one in zip(names, given, strict=True)
            }
            asked = self.expression(inner, returned)
            self.depth -= 1
            if asked is not None:
                return asked
        settled = self.answers_alike(function.module, code)
        return "call", settled, f"{function.module.name}:{function.line}", named, *given

    def function(self, frame: Frame, node: Node) -> Function | None:
        """Return the function of the program that an expression names."""
        if node[0] not in (nodes.NAME, nodes.ATTR):
            return None
        value = self.ev.quietly(frame.module, frame.env, node)
        return value if isinstance(value, Function) and value.owner is None else None

    def answers_alike(self, module: Module, code: Code) -> bool:
        """Return whether a function returns the same answer whenever it is called."""
        if self.depth >= _DEEPEST or not all(node[0] in _PLAIN for node in code.block):
            return False
        self.depth += 1
        try:
            return self._all_lasting(module, code)
        finally:
            self.depth -= 1

    def _all_lasting(self, module: Module, code: Code) -> bool:
        frame = Frame(module, None)
        local = {*code.parameters.positional, *code.parameters.keyword_only}
        for node in walk(code.block):
            match node:
                case (nodes.TO_NAME, name, *_):
                    local.add(name)
                case (nodes.NAME, name, _) if name not in local:
                    found = self.variable(frame, module, name)
                    if found is None or (found[0] == "variable" and not found[1]):
                        return False
                case (nodes.CALL, callee, *_):
                    function = self.function(frame, callee)
                    if function is not None:
                        inner = self.ev.definitions.code_of(function)
                        if inner is None or not self.answers_alike(function.module, inner):
                            return False
                        continue
                    held = self.expression(frame, callee)
                    if held is None or held[0] != "external" or not held[1]:
                        return False
                case (opcode, *_) if opcode >= nodes.EXPR and opcode not in _PLAIN and opcode < nodes.TO_NAME:
                    return False
        return True


def _combined(is_and: bool, asked: list[Meaning | None]) -> Meaning | None:
    """Return the question of `and` or `or`, leaving out parts that another operand decides: `a or a and b`
    means `a`.
    """
    kind, other = ("and", "or") if is_and else ("or", "and")
    parts = list(dict.fromkeys(asked))
    left = [
        part
        for part in parts
        if part is None or part[0] != other or not any(one in part[1:] for one in parts if one is not None)
    ]
    if len(left) == 1:
        return left[0]
    return (kind, *left) if any(left) else None


def _returned(block: Block) -> Node | None:
    """Return the expression returned by a function that does nothing else."""
    match block:
        case ((nodes.RETURN, _, _, tuple(value), *_),):
            return value
    return None


def _of_value(value: Value) -> Meaning | None:
    if isinstance(value, Const):
        return "constant", type(value.value).__name__, repr(value.value)
    if isinstance(value, ModuleRef):
        return "module", value.name
    if isinstance(value, Function) and value.env is None:
        return "function", value.module.name, value.line
    if isinstance(value, ClassRef) and value.env is None:
        return "class", value.module.name, value.qualified
    if isinstance(value, External) and "(" not in value.name:
        return _external(value.name)
    return None


def _external(name: str) -> Meaning:
    lasting = any(
        name.startswith(one) if one.endswith(".") else name == one or name.startswith(f"{one}.")
        for one in _LASTING
    )
    return "external", lasting, name
