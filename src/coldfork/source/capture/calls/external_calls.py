"""Calls of what has no source in the checked code: torch, the standard library, objects from elsewhere."""

from __future__ import annotations

import builtins

from coldfork.source.capture.calls import graph_managers
from coldfork.source.capture.calls.recording import mark_escaped, record_call, record_sync, record_truth_test
from coldfork.source.capture.contents.comparison import instance_of
from coldfork.source.capture.contents.containers import appended, collected, forget_contents, reordered
from coldfork.source.capture.device import device_work, synchronisation
from coldfork.source.capture.device.synchronisation import FACTORIES, Sync
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import ANY, SOME_CALL, Arguments, Object, Tensor, Value
from coldfork.source.syntax.nodes import Node, place_of
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.kinds import Const, External

_GRAPHS = frozenset(
    {"torch.cuda.graph", "torch.cuda.graphs.graph", "torch.xpu.graph", "coldfork.virtual.capture"}
)
_CAPTURING_NOW = frozenset(
    {"torch.cuda.is_current_stream_capturing", "torch.cuda.graphs.is_current_stream_capturing"}
)
_NEVER = frozenset({"torch.compiler.is_compiling", "torch.jit.is_scripting", "torch.jit.is_tracing"})
_READ_ON_HOST = frozenset({"print", "int", "float", "bool"})
#: Builtins that hand on what they were given.
_HANDING_ON = frozenset(
    {"iter", "list", "tuple", "sorted", "reversed", "set", "tqdm", "tqdm.tqdm", "tqdm.auto.tqdm"}
)
_REORDERING = frozenset({"sorted", "reversed", "set"})
#: Methods that leave a container as it is.
_LOOKING = frozenset({"keys", "copy", "index", "count"})
_FILLING = frozenset({"append", "add", "extend", "insert"})


def captures(value: Value) -> bool:
    """True for what captures the block that it is entered for."""
    return type(value) is Object and value.made_by in _GRAPHS


def function(f: Following, node: Node, name: str, given: Arguments) -> Value:
    """A call of a function that does not belong to the checked code."""
    arguments, keywords = given.positional, given.keywords
    known = _known(f, node, name, given)
    if known is not None:
        return known
    managed = graph_managers.function(f, name, given, place_of(node))
    if managed is not None:
        return managed
    mark_escaped(f, given)
    if not name.startswith("torch.") and not hasattr(builtins, name):
        forget_contents(given.values)
    sync = synchronisation.of_function(name, arguments)
    if sync is not None:
        record_sync(f, sync, text_of(node))
    _take_for_tensor(name, arguments)
    made = f.fresh(name.rpartition(".")[2], name)
    made.tensor = synchronisation.of_torch(name, arguments, keywords)
    if name == "torch.device" and arguments:
        made.parts["type"] = arguments[0]
    if f.run.listeners:
        device_work.of_function(f, node, name, made, given.values)
    return made


def _take_for_tensor(name: str, arguments: list[Value]) -> None:
    """What an operator of torch's is called with first is a tensor, if it is nothing else."""
    root, _, last = name.rpartition(".")
    if root not in ("torch", "torch.nn.functional") or last in FACTORIES or last in _NO_OPERATORS:
        return
    first = arguments[0] if arguments else None
    if type(first) is Object and first.cls is None and first.made_by in ("", SOME_CALL) and not first.items():
        first.tensor = first.tensor or Tensor()


_NO_OPERATORS = frozenset(
    {
        "tensor", "as_tensor", "from_numpy", "is_tensor", "cat", "concat", "stack", "hstack", "vstack",
        "compile", "einsum", "set_num_threads", "manual_seed", "no_grad", "load", "save", "meshgrid",
        "broadcast_tensors",
    }
)  # fmt: skip


def _known(f: Following, node: Node, name: str, given: Arguments) -> Value | None:
    """What a function gives of which more is known than that it is not ours; None for every other."""
    arguments = given.positional
    if name in _CAPTURING_NOW:
        return Const(f.run.region is not None)
    if name in _NEVER:
        return Const(False)
    if name == "torch.cuda.is_available":
        return Const(True)  # or there is nothing to capture
    if name == "torch.get_device_module":
        return External("torch.cuda")
    if name == "isinstance" and len(arguments) == 2:
        known = instance_of(f.names, arguments[0], arguments[1])
        return Const(known) if known is not None else f.fresh(name)
    if name == "len" and len(arguments) == 1 and type(arguments[0]) is Object:
        keys = arguments[0].keys if arguments[0].kind != "set" else None
        return f.fresh(name) if keys is None else Const(len(keys))
    if name == "bool" and arguments and f.truth(arguments[0]) is not None:
        return Const(f.truth(arguments[0]))
    if name in _READ_ON_HOST and arguments:
        _, _, expressions, *_ = node
        for value, expression in zip(arguments, expressions, strict=False):
            record_truth_test(f, value, expression, f"{name} of ")
        return f.fresh(name)
    if name in _HANDING_ON and arguments:
        first = arguments[0]
        mixes = name in _REORDERING and type(first) is Object and first.keys is not None
        return reordered(first) if mixes and type(first) is Object else first
    if name == "dict" and not arguments and not given.spread:
        return collected(f, "items", "dict", given.keywords, not given.options)
    if name in ("functools.partial", "partial") and arguments and not given.spread and not given.options:
        return _partial(f, given)
    return None


def _partial(f: Following, given: Arguments) -> Value:
    made = f.fresh("partial", "functools.partial")
    made.parts |= {f"[{index}]": value for index, value in enumerate(given.positional)}
    made.parts |= {f"{name}=": value for name, value in given.keywords.items()}
    return made


def method_of(
    f: Following,
    node: Node,
    receiver: Object,
    method: str,
    target: Value,
    given: Arguments,
) -> Value:
    """A method of an object of which no source is at hand."""
    arguments, keywords = given.positional, given.keywords
    shaped = _of_graph(f, node, method, arguments) or _of_container(f, receiver, method, arguments)
    if shaped is not None:
        return shaped
    if method not in _LOOKING:
        forget_contents([receiver])
    _, (_, owner, _, _), *_ = node
    text = text_of(owner)
    sync = synchronisation.of_method(receiver, method, text, keywords)
    if sync is None and synchronisation.copies_to_host(method, arguments, keywords):
        sync = (
            Sync(f"{text} is a tensor on the GPU")
            if receiver.tensor is None
            else synchronisation.of_truth(receiver, text)
        )
    if sync is not None:
        record_sync(f, sync, f"{text}.{method}({'...' if arguments or keywords else ''})")
    mark_escaped(f, given)
    made = f.fresh(method)
    tensor = synchronisation.placed(receiver)
    if tensor is not None:
        made.tensor = synchronisation.of_tensor_method(tensor, method, arguments, keywords)
        made.made_by = SOME_CALL
    elif receiver.made_by and method in (
        "eval",
        "train",
        "cuda",
        "to",
        "half",
        "float",
        "bfloat16",
        "requires_grad_",
    ):
        return receiver
    else:
        graph_managers.tried(f, receiver, method)
        receiver.escaped = receiver.escaped or receiver.cls is None
        if type(target) is Object:
            record_call(f, ("object", target), node, target)
    if f.run.listeners:
        device_work.of_method(f, node, method, receiver, made)
    return made


def _pairs(f: Following, receiver: Object) -> Value:
    made = f.fresh("items")
    for index, item in enumerate(receiver.items() or [receiver.part(ANY)]):
        pair = f.fresh("pair")
        pair.parts |= {"[0]": f.fresh("key"), "[1]": item}
        made.parts[f"[{index}]"] = pair
    made.before = receiver.before or not receiver.items()
    return made


def _of_graph(f: Following, node: Node, method: str, arguments: list[Value]) -> Value | None:
    """A method that begins or ends a capture; None for every other."""
    if method == "capture_begin":
        f.begin(*place_of(node))
        return Const(None)
    if method == "capture_end":
        f.end()
        return Const(None)
    if method == "enter_context" and arguments:
        if captures(arguments[0]):
            f.begin(*place_of(node))
        return arguments[0]
    return None


def _of_container(f: Following, receiver: Object, method: str, arguments: list[Value]) -> Value | None:
    """A method that puts something into a container or takes it out; None for every other."""
    if receiver.tensor is not None:
        return None
    if method in _FILLING and arguments:
        appended(f, receiver, _added(method, arguments[-1]))
        if receiver.keys is None:
            receiver.parts[ANY] = arguments[-1]
        device_work.stored(f, receiver, arguments[-1])
        return Const(None)
    if method == "items" and not arguments:
        return _pairs(f, receiver)
    if receiver.cls is None and method == "values":
        return receiver
    if receiver.cls is None and method in ("get", "pop") and arguments:
        return _taken_out(receiver, method, arguments)
    return None


def _added(method: str, given: Value) -> list[Value] | None:
    """What a method adds to the end of a list, if that is known."""
    if method == "append":
        return [given]
    return given.elements() if method == "extend" and type(given) is Object else None


def _taken_out(receiver: Object, method: str, arguments: list[Value]) -> Value:
    key = f"[{arguments[0].value!r}]" if isinstance(arguments[0], Const) else ANY
    missing = receiver.keys is not None and key != ANY and key not in receiver.keys
    if method == "pop":
        receiver.keys = None
    if missing:
        return arguments[1] if len(arguments) > 1 else Const(None)
    return receiver.part(key)
