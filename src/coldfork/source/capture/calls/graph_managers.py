"""Functions that capture what they are given, and captures of what never ran before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from coldfork.model.captures import CaptureKind
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import ANY, Arguments, Func, Object, Value
from coldfork.source.capture.state import DEPENDENT, FIXED, Captor, Observed
from coldfork.source.syntax.nodes import Node, called
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.kinds import Const, External

_MANAGER = "coldfork.graphs.GraphManager"
_CHECK = "coldfork.graphs.check"
_CALLABLES = frozenset({"torch.cuda.make_graphed_callables", "torch.cuda.graphs.make_graphed_callables"})
_PHASE = "coldfork.graphs.Phase"
Place = tuple[int, int, int]


def call(
    f: Following,
    receiver: Value | None,
    method: str,
    given: Arguments,
    place: Place,
) -> Value | None:
    """A method of ours that captures; None for every other."""
    if type(receiver) is Object and receiver.made_by == _MANAGER and method == "capture":
        return _managed(f, given, place)
    return None


def function(f: Following, name: str, given: Arguments, place: Place) -> Value | None:
    """A function that captures what it is given; None for every other."""
    if name == _CHECK:
        return _managed(f, given, place)
    if name in _CALLABLES and given.positional:
        return _graphed(f, given, place)
    return None


def _managed(f: Following, given: Arguments, place: Place) -> Value:
    """`capture(create_forward, ...)`: made and run for the warm-up, made anew and captured."""
    create = given.positional[0] if given.positional else given.keywords.get("create_forward")
    if not callable_here(create):
        return f.fresh("states")
    assert create is not None
    states = given.keywords.get("states")
    pair = states.part(ANY) if type(states) is Object else None
    made: dict[str, Value] = {}
    for phase in ("warmup", "capture"):
        handed: list[Value] = [f.fresh("descriptor"), External(f"{_PHASE}.{phase.upper()}")]
        if type(pair) is Object:
            handed.append(pair.part(phase))
        result = invoke(f, create, handed)
        forward = result.part("[0]") if type(result) is Object else result
        made[phase] = result.part("[1]") if type(result) is Object else f.fresh("state")
        if phase == "capture":
            f.begin(*place)
        if callable_here(forward):
            invoke(f, forward, [f.fresh("mode")])
    f.end()
    both = f.fresh("pair")
    both.parts |= made
    captured = f.fresh("states")
    captured.parts[ANY] = both
    return captured


def _graphed(f: Following, given: Arguments, place: Place) -> Value:
    """`make_graphed_callables(f, samples)`: run a few times, then captured."""
    target, *others = given.positional
    several = target.elements() if type(target) is Object else None
    samples = others[0] if others else f.fresh("samples")
    handed = samples.items() if type(samples) is Object else []
    callables = [one for one in several or [target] if callable_here(one)]
    if given.keywords.get("num_warmup_iters") != Const(0):
        for one in callables:
            invoke(f, one, list(handed))
    for one in callables:
        opened = f.begin(*place)
        invoke(f, one, list(handed))
        if opened:
            f.end()
    return target


def callable_here(value: Value | None) -> bool:
    """True for what can be followed into."""
    return isinstance(value, Func) or (type(value) is Object and value.cls is not None)


def invoke(f: Following, target: Value, arguments: list[Value]) -> Value:
    """Call something with what was made up for it."""
    given = Arguments(arguments, {}, [DEPENDENT if type(one) is Object else FIXED for one in arguments])
    if isinstance(target, Func):
        if f.run.region is not None:
            f.run.called.append((target.identity, target))
        return f.call(target, given)
    if type(target) is Object and target.cls is not None:
        for name in ("__call__", "forward"):
            method = f.names.of_class(target.cls, name)
            if isinstance(method, Func):
                return f.call(method.of(target), given)
    return f.fresh("it")


# -- what never ran -------------------------------------------------------------------------------------

#: Methods that run nothing of what a model computes.
_PREPARING = frozenset(
    {
        "parameters", "named_parameters", "buffers", "state_dict", "load_state_dict", "compile", "modules",
        "requires_grad_", "share_memory", "zero_grad", "named_modules", "register_buffer", "children",
    }
)  # fmt: skip


def tried(f: Following, receiver: Object, method: str) -> None:
    """A method of an object was called that may have run it."""
    if method not in _PREPARING and f.run.region is None:
        receiver.escaped = True
        f.run.ran.add(("object", receiver))


def first_run(f: Following, identity: object, node: Node, target: Func | Object) -> Observed | None:
    """Captured code calls something: what there is to say, if that can be its first run."""
    run = f.run
    if type(target) is Object:
        if target.cls is None and not target.made_by.startswith("torch."):
            run.opaque.add(_captor(f.frame.func))
        if not _is_new(f, identity, target):
            return None
    if type(target) is Func and (target.env is None or target.bound is not None or _ran(f, identity, target)):
        return None  # a function that others can call may have run anywhere
    run.ran.add(identity)
    text = text_of(called(node))
    assert run.region is not None
    sink = f"{text}, for the first time"
    return Observed(CaptureKind.NOT_WARMED_UP, run.region, run.steps(), sink, text, run.conditions())


def _captor(func: Func) -> Captor:
    """The function that captures, as its callers know it."""
    name = func.name
    owner = func.owner.name.partition(".")[0] if func.owner is not None else name
    return Captor(func.module.name, owner if name == "__init__" else name, owner)


@contextmanager
def watched(f: Following, first: Observed | None, closure: bool = False) -> Iterator[None]:
    """Follow what may be a first run: it is none if what it calls ran before, or may have."""
    start = len(f.run.called)
    yield
    inside = f.run.called[start:]
    if first is None or not all(_is_new(f, identity, one) for identity, one in inside):
        return
    if inside or not closure:  # operators alone are no more than the block itself may call
        f.run.observed.append(first)


def _is_new(f: Following, identity: object, target: Func | Object) -> bool:
    """True for what cannot have run before: made here, and in nobody else's hands."""
    if type(target) is Func:
        return target.bound is not None or not _ran(f, identity, target)
    assert type(target) is Object
    known = not target.before and (target.cls is not None or target.made_by.startswith("torch.nn."))
    return known and not target.escaped and identity not in f.run.ran


def _ran(f: Following, identity: object, target: Func) -> bool:
    places = {one[1:3] for one in f.run.ran if isinstance(one, tuple) and one[0] == "function"}
    return identity in f.run.ran or target.place in places
