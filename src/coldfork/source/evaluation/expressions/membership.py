"""Membership: whether one value is in another."""

from __future__ import annotations

from collections.abc import Iterable

from coldfork.source.evaluation.flow.truth_tests import opposite, test_of
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects import pytorch
from coldfork.source.evaluation.running import ENVIRONMENT, is_set
from coldfork.source.semantics import constants
from coldfork.source.values.kinds import (
    NONE,
    RELEASE,
    SETTLED,
    UNKNOWN,
    Attributes,
    Bound,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Sequence,
    Value,
)
from coldfork.source.values.texts import PartialText, holds, is_equal, is_within

#: The bases of enumerations whose members do not equal their values.
_PLAIN_MEMBERS = frozenset({"enum.Enum", "enum.Flag", "builtins.object"})


def member(ev: Interpreter, frame: Frame, left: Value, right: Value, wanted: bool) -> Value:
    """Return the value of `left in right` or, unless `wanted`, of `left not in right`."""
    if right is RELEASE and isinstance(left, Const) and str(left.value).isalpha():
        return Const(not wanted)  # a release number contains no word
    if isinstance(right, External) and right.name == "torch.__version__" and _is_of_another_build(ev, left):
        return Const(not wanted)
    if isinstance(right, External) and right.name in ENVIRONMENT:
        there = is_set(ev.environment, left)
        return there if wanted else opposite(there)
    held = _contains(ev, frame, left, right)
    return UNKNOWN if held is None else Const(held is wanted)


def _is_of_another_build(ev: Interpreter, word: Value) -> bool:
    """Return True for a word such as `rocm` that names a build of torch other than the assumed one."""
    builds = {"rocm": "hip", "hip": "hip", "xpu": "xpu"}
    build = builds.get(word.value) if isinstance(word, Const) and isinstance(word.value, str) else None
    known = ev.catalogue.values.get(f"torch.version.{build}")
    return known is not None and known.is_none


def _contains(ev: Interpreter, frame: Frame, item: Value, container: Value) -> bool | None:
    if isinstance(container, Attributes):
        container = container.held
    if isinstance(container, PartialText):
        return holds(container, item)
    if isinstance(item, PartialText):
        return _holds_partly(item, container)
    if isinstance(container, Mapping) and isinstance(item, SETTLED):
        if item in container.items:
            return True
        return False if container.exact and all(isinstance(k, SETTLED) for k in container.items) else None
    if isinstance(container, Sequence):
        if item in container.items and isinstance(item, (Const, Function, ClassRef, Instance)):
            return True
        if container.exact and isinstance(item, Instance) and item.is_member:
            outcomes = [identical(item, other) for other in container.items]
            return False if all(outcome is False for outcome in outcomes) else None
        first = plain(item) if container.exact else None
        if first is None:
            return None
        second = constants.container(container.kind, map(plain, container.items))
        return None if second is None else constants.compare("in", first.value, second.value)
    if isinstance(container, Const) and isinstance(item, Const):
        return constants.compare("in", item.value, container.value)
    if isinstance(container, Instance):
        method = ev.attribute(frame, container, "__contains__")
        if isinstance(method, Bound):
            return test_of(ev.call(frame, method, (item,))).nominal
    return None


def _holds_partly(text: PartialText, container: Value) -> bool | None:
    """Return whether a container holds a partly known text: False if no item can be equal to the text."""
    if isinstance(container, Const) and isinstance(container.value, str):
        return is_within(text, container.value)
    if isinstance(container, Const) and isinstance(container.value, tuple):
        held: Iterable[Value] = map(Const, container.value)
    elif isinstance(container, (Sequence, Mapping)) and container.exact:
        held = container.items
    else:
        return None
    return False if all(is_equal(text, one) is False for one in held) else None


def plain(value: Value) -> Const | None:
    """Return a value as a constant, including a container of constants; None if it is not
    constant, or large.
    """
    return value if isinstance(value, Const) else _Constants().of(value)


class _Constants:
    """Converts containers to constants, up to a total number of items: nested containers may share many
    items.
    """

    def __init__(self) -> None:
        self._room = constants.LARGEST

    def of(self, value: Value) -> Const | None:
        """Return a value as a constant; None if it is not constant, or too large."""
        self._room -= 1
        if isinstance(value, (Sequence, Mapping)):
            self._room -= len(value.items)
            if self._room < 0 or not value.exact or (value.items and value.doubtful):
                return None
        if isinstance(value, Sequence):
            return constants.container(value.kind, map(self.of, value.items))
        if isinstance(value, Mapping):
            return constants.dictionary(map(self.of, value.items), map(self.of, value.items.values()))
        return value if isinstance(value, Const) else None


def identical(left: Value, right: Value) -> bool | None:
    """Return whether two values are the same object; None if that is unknown."""
    if isinstance(left, Const) and isinstance(right, Const):
        return type(left.value) is type(right.value) and bool(left.value == right.value)
    solid = (Function, ClassRef, ModuleRef, Instance, Sequence, Mapping, Bound)
    if (left is NONE or left == NONE) or (right is NONE or right == NONE):
        other = right if left == NONE else left
        if (
            isinstance(other, (*solid, PartialText))
            or (isinstance(other, External) and (other.is_module or other == pytorch.TENSOR))
            or getattr(other, "truthy", False)
        ):
            return False
        return None
    if isinstance(left, (Function, ClassRef, ModuleRef)) and isinstance(
        right, (Function, ClassRef, ModuleRef)
    ):
        return left is right or left == right
    if isinstance(left, Instance) and isinstance(right, Instance):
        if left is right:
            return True
        return False if left.is_member and right.is_member else None
    if isinstance(left, Instance) and left.is_member and isinstance(right, Const):
        held = left.attributes.get("value")
        mixed = left.cls.linear is None or any(
            isinstance(base, External) and base.name not in _PLAIN_MEMBERS for base in left.cls.linear
        )
        return mixed and held == right if isinstance(held, Const) else None
    if (
        isinstance(left, External)
        and isinstance(right, External)
        and left.name == right.name
        and "(" not in left.name
    ):
        return True
    return None
