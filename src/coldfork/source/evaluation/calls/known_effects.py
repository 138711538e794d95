"""Applies the catalogue: records the known effects of calls, their values and their failures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from coldfork.knowledge.catalogue import ArgumentTest, Catalogue, Fact
from coldfork.knowledge.tensors import ON_DEFAULT_DEVICE
from coldfork.model.effects import WAKING, EffectKind, StepKind
from coldfork.source.evaluation.flow.branches import TAKING, describe
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects import pytorch
from coldfork.source.evaluation.trace import Failure, Link, Wake
from coldfork.source.syntax.variables import DEFAULT_DEVICE
from coldfork.source.values.conditions import Condition, Conditions
from coldfork.source.values.kinds import (
    NATURAL,
    NONE,
    UNKNOWN,
    Const,
    External,
    Keywords,
    Mapping,
    Partial,
    Sequence,
    Union,
    Unknown,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import FUNCTIONS, Wrapped
from coldfork.source.values.texts import PartialText, device_text
from coldfork.source.values.unions import alternatives

#: The classes of torch modules that hold tensors.
_MODULE = "torch.nn.Module"
_VENDORED = (".third_party.", "._vendor.", ".vendor.", "._vendored.")


def libraries(catalogue: Catalogue) -> frozenset[str]:
    """Return the top-level names of the libraries that the catalogue covers."""
    names: set[str] = set()
    for table in (
        catalogue.calls,
        catalogue.attributes,
        catalogue.imports,
        catalogue.raises,
        catalogue.call_wildcards,
        catalogue.harmless,
    ):
        names.update(name.partition(".")[0] for name in table)
    return frozenset(names)


def original_name(dotted: str) -> str:
    """Return a name of a library, without the package that contains a copy of the library."""
    for marker in _VENDORED:
        if marker in dotted:
            return dotted.rpartition(marker)[2]
    return dotted


def record_fact(ev: Interpreter, frame: Frame, fact: Fact) -> None:
    """Record a fact at the current line."""
    if fact.unless_env is not None:
        variable, wanted = fact.unless_env
        if ev.environment.values.get(variable) == wanted:
            if not fact.softens:
                return
            fact = fact.softened()
    conditions: Conditions = (Condition(words=fact.condition),) if fact.condition else ()
    if fact.taken:
        words = f"{TAKING} {fact.taken} at line {frame.line} of {frame.module.name}"
        conditions = (*conditions, Condition(words=words))
    link = Link(StepKind.SINK, fact.symbol, None, None, None)
    presumed = (fact.presumes,) if fact.presumes else ()
    known = fact.remedy, bool(fact.condition), fact.unless_env
    wake = Wake(fact.accelerator, fact.does, conditions, presumed, 1, link, *known)
    frame.wake(wake, fact.does in WAKING and not conditions)


def record_facts(ev: Interpreter, frame: Frame, facts: tuple[Fact, ...]) -> None:
    """Record facts at the current line."""
    for fact in facts:
        ev.record_fact(frame, fact)


def is_all(fact: Fact) -> bool:
    """Return True if a fact says that a context is certainly created, so that the source cannot show more."""
    return fact.does is EffectKind.CREATES_CONTEXT and not fact.condition and fact.unless_env is None


def record_unshown(ev: Interpreter, frame: Frame, facts: tuple[Fact, ...], shown: Collection[str]) -> None:
    """Record contexts that are certainly created, except those that following the source has already
    `shown`.
    """
    for fact in facts:
        if is_all(fact) and f"{fact.accelerator}+" not in shown:
            ev.record_fact(frame, fact)


def facts_of(
    ev: Interpreter, symbol: str, positional: Values, keywords: Keywords, computed: bool = False
) -> tuple[Fact, ...]:
    """Return the known effects of calling `symbol` with these arguments; raise if the call is known to fail.

    A function whose result was `computed` from its source is matched only by its full name: a pattern such as
    `cupy.*` describes the calls that users make, not every function inside the library.
    """
    raises = ev.catalogue.raises.get(symbol)
    if raises is not None:
        if raises.fails:
            raise Raised(raises.error or "other")
        # The profile says that this call works: its failure is kept, but only as possible.
        condition = Condition(words=_without(raises.presumes), presumes=raises.presumes, possible=True)
        ev.record_failure(Failure(condition, False, raises.error or "other", frozenset()))
    if computed:
        known = ev.catalogue.calls.get(symbol, ())
    else:  # for a function without source
        known = ev.catalogue.call(symbol) or ev.catalogue.helpers.get(symbol, ())
    if not known:
        return ()
    fitting = [_fitting(ev, fact, positional, keywords, symbol) for fact in known]
    return tuple([fact for fact in fitting if fact is not None])


def waiting(ev: Interpreter, symbol: str, positional: Values, keywords: Keywords) -> Value | None:
    """Return the result of a call such as `numba.cuda.jit`, which wakes nothing until the result
    is called.
    """
    if symbol not in ev.catalogue.waiting:
        return None
    wraps = symbol in ev.catalogue.wraps
    if wraps and not any(map(_is_about_arguments, ev.catalogue.calls[f"{symbol}()"])):
        return None
    if facts_of(ev, f"{symbol}()", positional, keywords):
        return Partial(External(f"{symbol}()"), positional, keywords)
    if wraps:
        return None
    return External(f"{symbol}()()")  # with these arguments, calling the result wakes nothing


def record_result_call(ev: Interpreter, frame: Frame, symbol: str) -> None:
    """Record the effects, as far as they do not depend on arguments, of calling `symbol`, the result of
    another call.
    """
    record_facts(
        ev, frame, tuple([fact for fact in ev.catalogue.call(symbol) if not _is_about_arguments(fact)])
    )


def _is_about_arguments(fact: Fact) -> bool:
    return fact.argument is not None or bool(fact.unless_argument)


def _fitting(
    ev: Interpreter, fact: Fact, positional: Values, keywords: Keywords, symbol: str = ""
) -> Fact | None:
    """Return the fact as it applies to a call with these arguments; None if it does not apply."""
    if not _is_about_arguments(fact):
        return fact
    taken = ""
    if fact.argument is not None:
        value = _argument(fact.argument, positional, keywords)
        if value is None or value == NONE:
            value = _default_device(ev, symbol, fact.argument)
        if value is None or not _passes(fact.argument, value, given=True):
            return None
        taken = _taken(ev, fact.argument, value)
    for test in fact.unless_argument:
        value = _argument(test, positional, keywords)
        if value is None:
            continue
        if _passes(test, value):
            return None
        if not ev.presumes and any(_may_pass(test, one) for one, _ in alternatives(value)):
            taken = taken or describe(value)
    return replace(fact, taken=taken) if taken else fact


def _may_pass(test: ArgumentTest, value: Value) -> bool:
    """Return whether an argument is unknown, so that it may or may not pass a test."""
    if test.empty:
        return isinstance(value, (Unknown, External)) or (isinstance(value, Sequence) and not value.exact)
    return isinstance(value, Unknown) and not (test.negative and value is NATURAL)


def _default_device(ev: Interpreter, symbol: str, test: ArgumentTest) -> Value | None:
    """Return the default device to test if the `device` argument is missing; None if the function
    ignores it.
    """
    if test.name != "device" or DEFAULT_DEVICE not in ev.environment.values:
        return None
    made_there = pytorch.function_of(symbol) in ON_DEFAULT_DEVICE
    if not made_there and not (symbol.startswith("torch.nn.") and ev.catalogue.returned(symbol) == _MODULE):
        return None
    return pytorch.default_device(ev)


def _taken(ev: Interpreter, test: ArgumentTest, value: Value) -> str:
    """Return, in words, the alternative that passes the test; empty if every alternative passes."""
    if ev.presumes or type(value) is not Union:
        return ""  # an argument that may name a device is presumed to name the device
    passing = [one for one, _ in value.alternatives if _accepts_one(test, one)]
    return "" if len(passing) == len(value.alternatives) else describe(passing[0] if passing else value)


def record_call(ev: Interpreter, frame: Frame, symbol: str, positional: Values, keywords: Keywords) -> bool:
    """Record the known effects of calling `symbol`; return whether there are any. Raise if the call is known
    to fail.
    """
    facts = facts_of(ev, symbol, positional, keywords)
    record_facts(ev, frame, facts)
    return bool(facts)


def _without(presumed: str) -> str:
    """Return the negation of a presumption such as `NVML works`, in words."""
    subject, _, verb = presumed.rpartition(" ")
    return f"a host where {subject} does not work" if verb == "works" else f"not: {presumed}"


def _argument(test: ArgumentTest, positional: Values, keywords: Keywords) -> Value | None:
    """Return the argument that a test examines; None if the call does not pass it."""
    value = keywords.get(test.name)
    if value is None and test.position is not None and test.position < len(positional):
        value = positional[test.position]
    return value


def _passes(test: ArgumentTest, value: Value, given: bool = False) -> bool:
    """Return whether the call's argument passes the test.

    With `given`, any argument passes, even an unknown one.
    """
    return _accepts(test, value) or (given and isinstance(value, Unknown) and test.accepts_any)


def _accepts(test: ArgumentTest, value: Value) -> bool:
    """Return whether a value, one of its alternatives, or an element of a list passes the test."""
    return any(_accepts_one(test, alternative) for alternative, _ in alternatives(value))


def _accepts_one(test: ArgumentTest, value: Value) -> bool:
    if test.data and isinstance(value, FUNCTIONS):
        return False
    if test.empty and isinstance(value, (Sequence, Mapping)):
        return value.exact and not value.items
    if isinstance(value, Const):
        return test.accepts(value.value)
    device = device_text(value)
    if device is not None:
        index = device.value if isinstance(device, Const) else ""
        return _accepts_one(test, Const(int(index)) if index.isdigit() else device)
    if isinstance(value, Sequence) and not test.narrow:
        return not test.selects or any(_accepts(test, item) for item in value.items)
    if isinstance(value, PartialText):
        return _accepts_part(test, value)
    if isinstance(value, External):
        return test.names(value.name) or test.accepts_any
    return test.accepts_any and not isinstance(value, Unknown)


def _accepts_part(test: ArgumentTest, text: PartialText) -> bool:
    """Return whether a partly known text passes the test, whatever its unknown part may be."""
    if test.equals or test.other_than or test.narrow:
        return False
    return text.start.startswith(test.startswith or "") and text.end.endswith(test.endswith or "")


def record_method_call(
    ev: Interpreter, frame: Frame, receivers: list[str], name: str, positional: Values, keywords: Keywords
) -> bool:
    """Record the known effects of calling a method of an object that has one of these classes."""
    known = False
    for entry in ev.catalogue.methods.get(name, ()):
        if not any(receiver in entry.receivers for receiver in receivers):
            continue
        fact = _fitting(ev, entry.fact, positional, keywords)
        if fact is None:
            continue
        record_fact(ev, frame, fact)
        known = True
    return known


def made(ev: Interpreter, symbol: str, positional: Values, keywords: Keywords) -> Value | None:
    """Return the callable that a library call makes, if calling it has known effects; else None."""
    return waiting(ev, symbol, positional, keywords) or _wrapped(ev, symbol, positional, keywords)


def _wrapped(ev: Interpreter, symbol: str, positional: Values, keywords: Keywords) -> Value | None:
    """Return the wrapped function that calling `symbol` makes; None if the catalogue does not list `symbol`.

    Without a function to wrap, the call makes a decorator: `jax.jit(static_argnums=0)`.
    """
    known = ev.catalogue.wraps.get(symbol)
    if known is None:
        return None
    function = positional[0] if positional else keywords.get(known.function)
    return Partial(External(symbol), (), keywords) if function is None else Wrapped(symbol, function)


def call_wrapped(
    ev: Interpreter, frame: Frame, callee: Wrapped, positional: Values, keywords: Keywords
) -> Value:
    """Call a wrapped function: record its known effects, and run the function that it wraps."""
    record_result_call(ev, frame, callee.symbol)
    value = ev.call(frame, callee.function, positional, keywords)
    return value if ev.catalogue.wraps[callee.maker].keeps_value else UNKNOWN
