"""Calls of what has no source in the checked code: torch, the standard library, objects from elsewhere."""

from __future__ import annotations

import builtins

from coldfork.source.capture.calls import container_methods, graph_managers, known_functions
from coldfork.source.capture.calls.recording import mark_escaped, record_call, record_sync
from coldfork.source.capture.contents.containers import forget_contents
from coldfork.source.capture.device import device_work, synchronisation
from coldfork.source.capture.device.synchronisation import FACTORIES, Sync
from coldfork.source.capture.following import Following
from coldfork.source.capture.history.keys import give_shape, numbered, shape_of, token
from coldfork.source.capture.objects import SOME_CALL, Arguments, Object, Tensor, Value
from coldfork.source.syntax.nodes import Node, place_of
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.kinds import Const

_GRAPHS = frozenset(
    {"torch.cuda.graph", "torch.cuda.graphs.graph", "torch.xpu.graph", "coldfork.virtual.capture"}
)
#: Methods that leave a container as it is.
_LOOKING = frozenset({"keys", "copy", "index", "count"})
#: Methods of a tensor that give another view of its memory.
_VIEWS = frozenset(
    {
        "view", "narrow", "select", "transpose", "permute", "unsqueeze", "squeeze", "flatten", "expand",
        "expand_as", "view_as", "t", "detach", "as_strided", "unfold", "unflatten", "swapaxes", "movedim",
        "reshape", "diagonal", "contiguous",
    }
)  # fmt: skip
#: Methods of a tensor that give several views of its memory.
_PARTING = frozenset({"chunk", "split", "unbind", "tensor_split", "split_with_sizes"})
_MOST_PARTS = 8
#: Questions about the shape of a tensor, with the same answer each time.
_OF_SHAPE = frozenset(
    {"size", "numel", "dim", "stride", "data_ptr", "element_size", "nelement", "ndimension"}
)


def captures(value: Value) -> bool:
    """True for what captures the block that it is entered for."""
    return type(value) is Object and value.made_by in _GRAPHS


def function(f: Following, node: Node, name: str, given: Arguments) -> Value:
    """A call of a function that does not belong to the checked code."""
    arguments, keywords = given.positional, given.keywords
    known = known_functions.call(f, node, name, given)
    if known is not None:
        return known
    managed = graph_managers.function(f, name, given, place_of(node))
    if managed is not None:
        return managed
    mark_escaped(f, given)
    if not name.startswith("torch.") and not hasattr(builtins, name):
        forget_contents(given.values)
    sync = synchronisation.of_function(name, arguments, keywords)
    if sync is not None:
        record_sync(f, sync, text_of(node))
    _take_for_tensor(name, arguments)
    made = f.fresh(name.rpartition(".")[2], name)
    made.tensor = synchronisation.of_torch(name, arguments, keywords)
    if name == "torch.nn.Sequential":
        made.parts |= {f"[{index}]": value for index, value in enumerate(arguments)}
    if name == "torch.device" and arguments:
        made.parts["type"] = arguments[0]
    device_work.of_function(f, node, name, made, given.values)
    if made.tensor is not None:
        give_shape(f, made, name, given.values)
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
    shaped = _of_graph(f, node, method, arguments) or container_methods.call(
        f, receiver, method, given, text_of(node)
    )
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
    sync = sync or synchronisation.copies_from_host(receiver, method, arguments, keywords)
    if sync is not None:
        record_sync(f, sync, f"{text}.{method}({'...' if arguments or keywords else ''})")
    mark_escaped(f, given)
    if method in _OF_SHAPE and all(isinstance(one, Const) for one in given.values):
        asked = [token(f, one) for one in (shape_of(f, receiver), *given.values)]
        return numbered(f, method, method, *asked, made_by=SOME_CALL)
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
    device_work.of_method(f, node, method, receiver, made)
    if made.tensor is not None:
        give_shape(f, made, method, [receiver, *given.values])
    if tensor is not None and method in _VIEWS:
        made.base, made.data = receiver, receiver.memory.data
    if tensor is not None and method in _PARTING:
        for index in range(_MOST_PARTS):
            part = f.fresh(f"{method}[{index}]", SOME_CALL)
            part.tensor, part.base, part.data = tensor, receiver, receiver.memory.data
            made.parts[f"[{index}]"] = part
        made.tensor = None
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
