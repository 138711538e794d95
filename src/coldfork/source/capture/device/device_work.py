"""What code computes on the device, and where the outcome is kept: only that can be missing from a graph.

A first run that compiles, tunes or allocates leaves nothing behind that depends on the batch. One that puts a
computed tensor into an attribute, or writes into a buffer that was there before, does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from coldfork.source.capture.device.batch_dependence import of_arguments
from coldfork.source.capture.device.synchronisation import FACTORIES, SHAPE
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import Func, Object, Tensor, Value, Work
from coldfork.source.capture.state import DEPENDENT, FIXED, MAYBE
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.quoting import text_of
from coldfork.source.syntax.walk import walk

#: Methods that hardly anything but a tensor has.
_COMPUTING = frozenset(
    {
        "cumsum", "cumprod", "index_select", "gather", "masked_fill", "argsort", "topk", "softmax", "matmul",
        "bmm", "repeat_interleave", "logical_and", "amax", "argmax", "clamp", "floor_divide", "contiguous",
        "abs", "exp", "sqrt", "rsqrt", "sigmoid", "tanh", "relu", "log_softmax", "norm", "square", "amin",
        "logical_or", "logical_not", "index_add", "scatter_add", "masked_select", "tril", "triu",
        "cos", "sin", "tan", "cosh", "sinh", "acos", "asin", "atan", "log", "log2", "log10", "log1p", "exp2",
        "expm1", "erf", "reciprocal", "cummax", "cummin", "logsumexp", "mm", "mv", "addmm", "baddbmm", "roll",
        "nan_to_num", "lerp", "addcmul", "bincount", "searchsorted", "bucketize", "masked_scatter",
        "softplus", "logical_xor", "bitwise_and", "bitwise_or", "take_along_dim", "index_put", "kthvalue",
        "frac", "trunc",
    }
)  # fmt: skip
#: Methods that tables and arrays have too.
_REDUCING = frozenset({"sum", "mean", "prod", "std", "var", "median", "diff", "clone", "max", "min"})
_WRITING = frozenset(
    {
        "copy_", "add_", "mul_", "sub_", "div_", "clamp_", "cumsum_", "index_copy_", "index_fill_",
        "scatter_", "scatter_add_", "masked_fill_", "fill_", "zero_",
    }
)  # fmt: skip
#: Methods that give the same in another type, and that numbers and modules have too.
_CONVERTING = frozenset(
    {"float", "half", "double", "bfloat16", "int", "long", "bool", "to", "type", "type_as", "byte", "short"}
)
#: These write the same each time, unless they are given something else to write.
_ERASING = frozenset({"zero_", "fill_", "normal_", "uniform_", "random_"})
#: These leave nothing of what was there.
_REPLACING = frozenset({"copy_", "fill_", "zero_", "normal_", "uniform_", "random_"})
#: Functions whose outcome is no data, whatever they are given to look at.
_PREPARING = re.compile(r"compil|build|jit|tun(?:e|ing)|load|creat|make|config|select|choose|descriptor")


def of_function(f: Following, node: Node, name: str, made: Object, arguments: list[Value]) -> None:
    """What a function that is not ours computes."""
    root, _, last = name.rpartition(".")
    if not root or root.startswith("torch.cuda") or last in FACTORIES or last in SHAPE:
        return
    level = of_arguments(f, node)
    if not root.startswith("torch"):
        if _PREPARING.search(name) is None and _tensors(arguments):
            made.data = (min(level, MAYBE), text_of(node))
        return
    if last in ("tensor", "as_tensor", "from_numpy"):
        level = min(level, MAYBE)
    made.data = (level, text_of(node))
    if root.startswith("torch.ops"):
        launched(f, node, arguments)
    _, _, _, keywords, *_ = node
    for keyword, value in keywords:
        if keyword == "out":
            target = f.evaluate(value)
            if type(target) is Object:
                written(f, target, level, text_of(node), whole=True)


def of_method(f: Following, node: Node, method: str, receiver: Object, made: Object) -> None:
    """What a method of a tensor computes."""
    if receiver.tensor is None and method in _CONVERTING and receiver.data[0] > FIXED:
        made.data = receiver.data
        return
    if receiver.tensor is None and method in _REDUCING and f.level(node) == DEPENDENT:
        made.data = (MAYBE, text_of(node))
        return
    if method in SHAPE or (receiver.tensor is None and method not in _COMPUTING | _WRITING):
        return
    text = text_of(node)
    if method.endswith("_") and not method.endswith("__"):
        _, (_, written_into, _, _), positional, *_ = node
        level = max((f.level(one) for one in positional), default=FIXED)
        if method not in _ERASING:
            level = max(level, f.level(written_into))
        written(f, receiver, level, text, whole=method in _REPLACING)
        made.data = receiver.data
    else:
        made.tensor = made.tensor or Tensor()
        made.data = (f.level(node), text)


def launched(f: Following, node: Node, arguments: Iterable[Value]) -> None:
    """A kernel was started with these: it may have written into any of them."""
    level, text = of_arguments(f, node), text_of(node)
    owners = [owner for owner, _ in f.run.lazily]
    for one in arguments:
        if type(one) is Object:
            one.data = max(one.data, (level, text))
            if any(owner.holds(one) for owner in owners):
                f.run.work(Work(level, text, one, one))


def written(f: Following, target: Object, level: int, text: str, whole: bool = False) -> None:
    """Something was written into a tensor, or into another one through a view of it."""
    owner = target.memory
    owner.data = max(owner.data, (level, text))
    f.run.work(Work(level, text, owner, owner))
    if whole and f.run.region is not None:
        f.run.renew(target)


def stored(f: Following, owner: Object, value: Value) -> None:
    """Something was put into an attribute or a container."""
    if isinstance(value, Func):
        for enclosed in _enclosed(value):
            f.run.work(Work(*enclosed.data, owner, enclosed))
    if type(value) is not Object:
        return
    for one in (value, *value.items()):
        if type(one) is Object and one.data[0] > FIXED:
            f.run.work(Work(*one.data, owner, value))


def _enclosed(function: Func) -> list[Object]:
    """What was computed from the batch and a function finds around it whenever it is called."""
    asked = {name for _, name, _ in (part for part in walk(function.code.block) if part[0] == nodes.NAME)}
    found = [env.names[name] for env in function.around() for name in sorted(asked & env.names.keys())]
    return [one for one in found if type(one) is Object and one.data[0] > FIXED]


def bound(f: Following, value: Value) -> None:
    """A name of a function around was bound."""
    if type(value) is Object and value.data[0] > FIXED:
        f.run.work(Work(*value.data, value, value))


def kept(works: Iterable[Work], around: Iterable[Value]) -> list[Work]:
    """Of what was done, that which is kept by something from before."""
    roots = [one for one in around if type(one) is Object]
    return [work for work in works if any(root.holds(work.target) for root in roots)]


def _tensors(arguments: Iterable[Value]) -> bool:
    return any(type(value) is Object and value.tensor is not None for value in arguments)
