"""Bring the knowledge base to bear: facts become wakes, known calls have known values or fail."""

from __future__ import annotations

from coldfork.knowledge.catalogue import ArgumentTest, Catalogue, Fact
from coldfork.model.chains import StepKind
from coldfork.model.effects import WAKING
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.trace import Failure, Link, Wake
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import Const, External, Keywords, Partial, Sequence, Value
from coldfork.source.values.unions import alternatives

_VENDORED = (".third_party.", "._vendor.", ".vendor.", "._vendored.")


def libraries(catalogue: Catalogue) -> frozenset[str]:
    """Top-level names of the libraries that the catalogue covers."""
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
    """The name without the package that carries a copy of the library."""
    for marker in _VENDORED:
        if marker in dotted:
            return dotted.rpartition(marker)[2]
    return dotted


def record_fact(ev: Interpreter, frame: Frame, fact: Fact) -> None:
    """Record a fact at the current line."""
    if fact.unless_env is not None:
        variable, wanted = fact.unless_env
        if ev.environment.values.get(variable) == wanted:
            fact = fact.softened()
    conditions = (Condition(words=fact.condition),) if fact.condition else ()
    link = Link(StepKind.SINK, fact.symbol, None, None, None)
    presumed = (fact.presumes,) if fact.presumes else ()
    wake = Wake(
        fact.accelerator,
        fact.does,
        conditions,
        presumed,
        1,
        link,
        fact.remedy,
        bool(conditions),
        fact.unless_env,
    )
    frame.wake(wake, fact.does in WAKING and not conditions)


def facts_of(
    ev: Interpreter, symbol: str, positional: tuple[Value, ...], keywords: dict[str | None, Value]
) -> tuple[Fact, ...]:
    """What calling `symbol` with these arguments is known to do; raises if the call is known to fail."""
    raises = ev.catalogue.raises.get(symbol)
    if raises is not None:
        if raises.fails:
            raise Raised("other")
        # The profile says that it works: the other way is kept, but only as possible.
        condition = Condition(words=_without(raises.presumes), presumes=raises.presumes, possible=True)
        ev.record_failure(Failure(condition, False, "other"))
    return tuple(fact for fact in ev.catalogue.call(symbol) if _applies(fact, positional, keywords))


def waiting(
    ev: Interpreter, symbol: str, positional: tuple[Value, ...], keywords: Keywords
) -> Partial | None:
    """What a call returns that wakes nothing until it is called in its turn, as `numba.cuda.jit` does."""
    if symbol not in ev.catalogue.waiting or not facts_of(ev, f"{symbol}()", positional, keywords):
        return None
    return Partial(External(f"{symbol}()"), positional, keywords)


def _applies(fact: Fact, positional: tuple[Value, ...], keywords: dict[str | None, Value]) -> bool:
    """Whether a fact belongs to a call with these arguments."""
    if fact.argument is not None and not _passes(fact.argument, positional, keywords):
        return False
    return fact.unless_argument is None or not _passes(fact.unless_argument, positional, keywords)


def record_call(
    ev: Interpreter,
    frame: Frame,
    symbol: str,
    positional: tuple[Value, ...],
    keywords: dict[str | None, Value],
) -> bool:
    """Record what calling `symbol` is known to do; raise if it is known to fail. Whether it does anything."""
    facts = facts_of(ev, symbol, positional, keywords)
    for fact in facts:
        record_fact(ev, frame, fact)
    return bool(facts)


def _without(presumed: str) -> str:
    """The opposite of a presumption such as `NVML works`, in words."""
    subject, _, verb = presumed.rpartition(" ")
    return f"a host where {subject} does not work" if verb == "works" else f"not: {presumed}"


def _passes(test: ArgumentTest, positional: tuple[Value, ...], keywords: dict[str | None, Value]) -> bool:
    """Whether the argument that the test looks at passes it."""
    value = keywords.get(test.name)
    if value is None and test.position is not None and test.position < len(positional):
        value = positional[test.position]
    if value is None:
        return False
    return _accepts(test, value)


def _accepts(test: ArgumentTest, value: Value) -> bool:
    """Whether a value, one of its alternatives, or an element of a list passes."""
    return any(_accepts_one(test, alternative) for alternative, _ in alternatives(value))


def _accepts_one(test: ArgumentTest, value: Value) -> bool:
    if isinstance(value, Const):
        return test.accepts(value.value)
    if isinstance(value, External) and value.name.startswith("torch.device("):
        return test.accepts(value.name[len("torch.device(") : -1])
    if isinstance(value, Sequence):
        return not test.selects or any(_accepts(test, item) for item in value.items)
    return isinstance(value, External) and test.names(value.name)


def record_method_call(
    ev: Interpreter,
    frame: Frame,
    receivers: list[str],
    name: str,
    positional: tuple[Value, ...],
    keywords: dict[str | None, Value],
) -> bool:
    """Record what a method of an object of one of these classes is known to do."""
    known = False
    for entry in ev.catalogue.methods.get(name, ()):
        if not any(receiver in entry.receivers for receiver in receivers):
            continue
        if not _applies(entry.fact, positional, keywords):
            continue
        record_fact(ev, frame, entry.fact)
        known = True
    return known
