"""Evaluation of calls: functions, classes, bound methods, names without source, and lazy values."""

from __future__ import annotations

from typing import NamedTuple

from coldfork.knowledge.catalogue import Fact
from coldfork.model.effects import WAKING, StepKind
from coldfork.source.evaluation.calls import external_calls, known_effects
from coldfork.source.evaluation.calls.argument_binding import bind_arguments, first_union
from coldfork.source.evaluation.calls.construction import construct
from coldfork.source.evaluation.calls.outcomes import hand_over, recalled
from coldfork.source.evaluation.calls.unknown_code import disturb_arguments
from coldfork.source.evaluation.calls.waiting import COMING_BACK, may_wait
from coldfork.source.evaluation.flow.branches import FALLS
from coldfork.source.evaluation.frame import PAUSED, CallResult, Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter, contain, cut_short
from coldfork.source.evaluation.memo import LONG, NOTHING, Key
from coldfork.source.evaluation.objects import pytorch
from coldfork.source.evaluation.objects.protocols import iterate
from coldfork.source.evaluation.overlays.stdlib import MODELS
from coldfork.source.syntax.nodes import Code
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import (
    NONE,
    UNKNOWN,
    Bound,
    ClassMethod,
    ClassRef,
    Env,
    External,
    Function,
    Instance,
    Keywords,
    Lazy,
    Method,
    Partial,
    Sequence,
    StaticMethod,
    Union,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import Wrapped, unwatched
from coldfork.source.values.unions import under, union

_NOTHING: frozenset[str] = frozenset()


class _Call(NamedTuple):
    """A function with its code and the arguments of one call."""

    function: Function
    code: Code
    positional: Values
    keywords: Keywords
    first_yield_only: bool
    """True for a generator if only its first item is needed."""


def call(ev: Interpreter, frame: Frame, callee: Value, positional: Values, keywords: Keywords) -> Value:
    """Call `callee`, recording the effects in `frame`."""
    kind = type(callee)
    if kind is Function:
        return call_function(ev, frame, callee, positional, keywords)  # type: ignore[arg-type]
    if isinstance(callee, Bound):
        return call(ev, frame, callee.function, (callee.receiver, *positional), keywords)
    if ev.unknown_code is not None:
        ev.unknown_code.called(callee, positional, keywords)
        disturb_arguments(callee, positional, keywords)
        if may_wait(ev, callee, positional):
            frame.doubt(COMING_BACK)
    if isinstance(callee, External):
        return external_calls.call_external(ev, frame, callee.name, positional, keywords)
    if isinstance(callee, ClassRef):
        return construct(ev, frame, callee, positional, keywords)
    if isinstance(callee, Method):
        return external_calls.call_method(ev, frame, callee, positional, keywords)
    if isinstance(callee, Union):
        return ev.for_each_alternative(
            frame, callee, lambda single: call(ev, frame, single, positional, keywords)
        )
    if isinstance(callee, Instance):
        method = ev.attribute(frame, callee, "__call__")
        if isinstance(method, (Bound, Function, Union)):
            return call(ev, frame, method, positional, keywords)
        return UNKNOWN
    if isinstance(callee, Partial):
        return call(
            ev, frame, callee.function, (*callee.positional, *positional), {**callee.keywords, **keywords}
        )
    if isinstance(callee, Wrapped):
        return known_effects.call_wrapped(ev, frame, callee, positional, keywords)
    if isinstance(callee, (StaticMethod, ClassMethod)):
        return call(ev, frame, callee.function, positional, keywords)
    return UNKNOWN


def call_function(
    ev: Interpreter,
    frame: Frame,
    function: Function,
    positional: Values,
    keywords: Keywords,
    lazily: bool = False,
    combinations: int = 1,
) -> Value:
    """Call a function with source, unless the catalogue describes it."""
    facts: tuple[Fact, ...] = ()
    symbol = ""
    name = function.module.name
    if name.partition(".")[0] in ev.known_libraries or "vendor" in name or "third_party" in name:
        symbol = known_effects.original_name(f"{name}.{function.qualified}")
        facts = known_effects.facts_of(ev, symbol, positional, keywords, computed=True)
        returned = _known(ev, frame, symbol, positional, keywords)
        if returned is not None:
            known_effects.record_facts(ev, frame, facts)
            return returned
        returned = external_calls.answer(ev, frame, function, symbol, facts)
        if returned is not None:
            return returned
    code = _code_to_follow(ev, frame, function)
    if code is None:
        known_effects.record_facts(ev, frame, facts)
        if ev.unknown_code is not None:
            frame.doubt(COMING_BACK)
        return UNKNOWN
    if not lazily:
        if function.context:
            return Lazy("context", (function, positional, keywords))
        if code.is_generator:
            return Lazy("generator", (function, positional, keywords))
        if code.is_async:
            return Lazy("coroutine", (function, positional, keywords))
    # Alternatives are not split in recursive calls: otherwise each level would multiply the paths.
    nested = ev.memo.is_followed((function.module.name, id(code)))
    split = None if nested else first_union(positional, keywords, combinations)
    if split is not None:
        return _call_split(ev, frame, function, positional, keywords, split, lazily, combinations)
    result = _result(ev, function, code, positional, keywords)
    for fact in facts:  # the source does not show what compiled code or dynamic dispatch does
        if not known_effects.is_all(fact) and not any(
            wake.accelerator == fact.accelerator and wake.kind in WAKING for wake in result.wakes
        ):
            ev.record_fact(frame, fact)
    hand_over(ev, frame, result)
    known_effects.record_unshown(ev, frame, facts, result.must)
    vague = result.value is UNKNOWN or (isinstance(result.value, Instance) and result.value.open)
    if facts and vague:  # the catalogue may know what methods of the result do
        return external_calls.known_result(ev, symbol)
    return result.value


def _known(
    ev: Interpreter, frame: Frame, symbol: str, positional: Values, keywords: Keywords
) -> Value | None:
    """Return the result of a library function that needs a model of its own; None for other functions."""
    model = MODELS.get(symbol)
    if model is not None:
        own = positional[1:] if symbol.endswith(".__init__") else positional
        result = model(ev, frame, own, keywords)
        if result is not None:
            return result
    made = known_effects.made(ev, symbol, positional, keywords)
    return pytorch.called_for_device(ev, frame, symbol, positional, keywords) if made is None else made


def _code_to_follow(ev: Interpreter, frame: Frame, function: Function) -> Code | None:
    """Return a function's parameters and block; None if unreadable, or beyond the budget."""
    try:
        code = ev.definitions.code_of(function)
    except Exception as problem:
        inner = Frame(function.module, None, function)
        inner.symbol = function.qualified
        contain(ev, inner, problem, function.line)
        return None
    if code is not None and ev.budget.exhausted:
        cut_short(ev, frame, frame.line)
        return None
    return code


def run_lazily(
    ev: Interpreter, frame: Frame, function: Value, positional: Values, keywords: Keywords
) -> Value:
    """Run the body of a generator, coroutine or context manager."""
    if isinstance(function, Function):
        return call_function(ev, frame, function, positional, keywords, lazily=True)
    if isinstance(function, External) and function.name == "builtins.map":
        items, exact = iterate(ev, frame, positional[1])
        return Sequence("list", tuple([ev.call(frame, positional[0], (item,)) for item in items]), exact)
    if isinstance(function, External) and function.name == "builtins.filter":
        items, _ = iterate(ev, frame, positional[1])
        if positional[0] != NONE:
            for item in items:
                ev.call(frame, positional[0], (item,))
        return Sequence("list", items, exact=False)
    return UNKNOWN


def _call_split(
    ev: Interpreter,
    frame: Frame,
    function: Function,
    positional: Values,
    keywords: Keywords,
    split: int | str,
    lazily: bool,
    combinations: int,
) -> Value:
    value = positional[split] if isinstance(split, int) else keywords[split]
    assert isinstance(value, Union)
    made = combinations * len(value.alternatives)

    def one(single: Value) -> Value:
        if isinstance(split, int):
            chosen = (*positional[:split], single, *positional[split + 1 :])
            return call_function(ev, frame, function, chosen, keywords, lazily, made)
        return call_function(ev, frame, function, positional, {**keywords, split: single}, lazily, made)

    return ev.for_each_alternative(frame, value, one)


def _result(
    ev: Interpreter, function: Function, code: Code, positional: Values, keywords: Keywords
) -> CallResult:
    """Return the result of the call, from the cache if there is one for equal arguments."""
    first_yield_only, ev.first_yield_only = ev.first_yield_only and code.is_generator, False
    place = (function.module.name, id(code))
    # Two lambdas may share a line; their code identifies them, and exists as long as the summary.
    identity: object = function if function.env is None else (*place, function.env)
    plain = tuple(map(unwatched, positional))
    met = 0 if ev.unknown_code is None else ev.unknown_code.calls
    surroundings = ev.environment.key, met
    key = (identity, plain, tuple(keywords.items()), surroundings, first_yield_only)
    known = recalled(ev, key, positional, place)
    if known is not None:
        ev.budget.left -= 1
        ev.program.consulted |= known.consulted
        if known.cut is not None:
            ev.budget.end_at(known.cut.module, known.cut.function, known.cut.line)
        return known
    if not ev.memo.enter_call(key, place):
        return NOTHING if ev.unknown_code is None else NOTHING._replace(stays=(Condition(words=COMING_BACK),))
    watched = ev.unread_texts.watched(key, positional)
    try:
        return _follow(ev, _Call(function, code, watched, keywords, first_yield_only), key, place)
    finally:
        ev.memo.leave_call(key, place)


def _follow(ev: Interpreter, call: _Call, key: Key, place: tuple[str, int]) -> CallResult:
    """Follow a call, within the budget, and cache its result."""
    budget, program = ev.budget, ev.program
    program.pause()
    left, shared, mark = budget.left, ev.journal.shared, ev.journal.mark()
    functions_known = ev.unproductive_calls.begin(place)
    alone = not ev.joining
    kept = budget.enter_call()
    ev.failing.append({})
    outer, program.consulted = program.consulted, call.function.module.bit
    try:
        result = _run(ev, call)
    finally:
        program.consulted |= outer
        ev.failing.pop()
        budget.depth -= 1
    # The same call would use up the budget again, so its incomplete result is kept as final.
    final = budget.ran_out(left)
    budget.left += kept
    if left - budget.left >= LONG:
        ev.unproductive_calls.record_slow_call(place, result, functions_known)
    alike = ev.unread_texts.learn(key, call.positional, result, ev.journal.is_as_at(mark))
    result = result._replace(value=unwatched(result.value))
    if ev.memo.remember(key, result._replace(cut=budget.cut) if final else result, shared, regardless=final):
        ev.journal.settle(mark)
    if alike is not None:
        ev.memo.remember(alike, result, shared, regardless=False)
    if alone and not final:
        ev.memo.remember_state(key, result, mark, ev.running.rebound)
    return result


def _run(ev: Interpreter, call: _Call) -> CallResult:
    function, code = call.function, call.code
    inner = Frame(function.module, Env(function.env), function)
    inner.symbol = function.qualified
    inner.first_yield_only = call.first_yield_only
    inner.step_kind = StepKind.CONSTRUCT if function.name in ("__init__", "__new__") else StepKind.CALL
    raises, outright = "", False
    try:
        bind_arguments(ev, inner, function, code.parameters, call.positional, call.keywords)
        ended = ev.execute(inner, code.block)
        if ended == FALLS and not (inner.off is not None and inner.returns):
            inner.returns.append((NONE, inner.off))
            inner.exit_musts.append(set(inner.must))
    except Raised as problem:
        if problem.kind == PAUSED:
            problem.kind = ""
            inner.returns.append((NONE, inner.off))
            inner.exit_musts.append(set(inner.must))
        raises = problem.kind if not inner.returns else ""
        outright = problem.outright
        inner.raise_musts.append(set(inner.must))
        if raises:
            inner.exit_musts.append(set(inner.must))
    except Exception as problem:
        contain(ev, inner, problem)
        inner.returns.append((UNKNOWN, None))
        inner.exit_musts.append(set())
    must = _in_all(inner.exit_musts) if inner.exit_musts else _NOTHING
    if code.is_generator:
        value: Value = Sequence("list", tuple(inner.yields), not (inner.conditions or inner.partial))
    else:
        value = _returned(ev, inner, function, code)
    raise_must = _in_all(inner.raise_musts) if inner.raise_musts else None
    return CallResult(
        value,
        tuple(inner.wakes.values()),
        tuple(inner.edges.values()),
        must,
        raises,
        tuple(ev.failing[-1].values()),
        ev.program.consulted,
        inner.nominal_presumed,
        raise_must,
        outright,
        inner.stays,
        starts=tuple(inner.starts.values()),
        made_up=isinstance(value, Instance) and all(value is not returned for returned, _ in inner.returns),
    )


def _in_all(musts: list[set[str]]) -> frozenset[str]:
    """Return the intersection of the sets; it is usually empty, so sharing one empty set saves memory."""
    held = musts[0].intersection(*musts)
    return frozenset(held) if held else _NOTHING


def _returned(ev: Interpreter, inner: Frame, function: Function, code: Code) -> Value:
    """Return the value that a call returns; if it is unknown, an object of the class in the annotation."""
    nominal = [value for value, off in inner.returns if off is None]
    others = [under(value, off) for value, off in inner.returns if off is not None]
    value = union([*nominal, *others])
    foreign = isinstance(value, External) and value.name.partition(".")[0] not in ev.known_libraries
    unclear = value is UNKNOWN or (foreign and value.name.endswith(")"))  # type: ignore[attr-defined]
    if unclear and code.returns is not None:
        annotated = ev.instance_of(function.module, function.env, code.returns)
        return value if annotated is UNKNOWN else annotated
    return value
