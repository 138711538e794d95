"""Values of torch: its devices, the default device, and tensors."""

from __future__ import annotations

from collections.abc import Iterable

from coldfork.knowledge import tensors
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.syntax.variables import DEFAULT_DEVICE
from coldfork.source.values.kinds import (
    NATURAL,
    NONE,
    UNKNOWN,
    Const,
    External,
    Keywords,
    Unknown,
    Value,
    Values,
)
from coldfork.source.values.texts import (
    PartialText,
    device_named,
    device_text,
    joined_text,
)
from coldfork.source.values.unions import alternatives, each_text

_CHOOSING = ("torch.cuda.device", "torch.xpu.device")
_CURRENT = "torch.accelerator.current_accelerator()"
_ACCELERATED_TYPES = "torch.cuda."
_CPU = "torch.device(cpu)"
_CUDA = "torch.device(cuda)"


def called_for_device(
    ev: Interpreter, frame: Frame, symbol: str, positional: Values, keywords: Keywords
) -> Value | None:
    """Return the result of a torch function that makes, names or sets a device; None for all other
    functions.
    """
    if symbol == "torch.device":
        return _made(positional, keywords)
    if symbol in ("torch.set_default_device", "torch.set_default_tensor_type"):
        given = positional[0] if positional else next(iter(keywords.values()), UNKNOWN)
        if not frame.quiet:
            set_default_device(ev, None if frame.conditions else _chosen(given))
        return NONE
    if symbol == "torch.get_default_device":
        return _default(ev, frame)
    if symbol == "torch.accelerator.current_accelerator":
        kind = ev.catalogue.values.get(f"{_CURRENT}.type")
        return device_named(Const(kind.constant)) if kind is not None and kind.constant else None
    return _no_device(ev, positional, keywords) if symbol in _CHOOSING else None


def _no_device(ev: Interpreter, positional: Values, keywords: Keywords) -> Value | None:
    """Return the context made by `torch.cuda.device(-1)`, which selects no device; None for a real device."""
    given = positional[0] if positional else keywords.get("device", UNKNOWN)
    if isinstance(given, Const) and type(given.value) is int and given.value < 0:
        return External("torch.no_device()")
    # For results that must be certain: an unknown number may be negative.
    return UNKNOWN if not ev.presumes and isinstance(given, Unknown) and given is not NATURAL else None


def _made(positional: Values, keywords: Keywords) -> Value | None:
    """Return the device made by `torch.device(type)` or `torch.device(type, index)`."""
    kind = positional[0] if positional else keywords.get("type", keywords.get("device"))
    index = positional[1] if len(positional) > 1 else keywords.get("index")
    if kind is None:
        return None
    whole = kind if index is None or index == NONE else each_text((kind, Const(":"), index), joined_text)
    return each_text((whole,), lambda parts: device_named(parts[0]) or External("torch.device()"))


def device_attribute(value: External, name: str) -> Value | None:
    """Return the value of `device.type`, if the device is known."""
    text = device_text(value) if name == "type" else None
    if isinstance(text, PartialText):
        kind, colon, _ = text.start.partition(":")
        return Const(kind) if colon else UNKNOWN
    return Const(text.value.partition(":")[0]) if isinstance(text, Const) else None


def _chosen(given: Value) -> str | None:
    """Return the text of the default device that is set on the nominal path; None if it is unknown."""
    nominal = [value for value, condition in alternatives(given) if condition is None]
    if len(nominal) != 1:
        return None
    (only,) = nominal
    if only == NONE:
        return _CPU
    written = only.name if isinstance(only, External) else getattr(only, "value", "")
    if isinstance(written, str) and written.startswith("torch.") and written.endswith("Tensor"):
        return _CUDA if written.startswith(_ACCELERATED_TYPES) else _CPU
    device = device_named(only)
    return device.name if device is not None else None


def set_default_device(ev: Interpreter, device: str | None) -> str | None:
    """Set the default device, and return the previous one."""
    before = ev.environment.values.get(DEFAULT_DEVICE, _CPU)
    ev.environment.set(DEFAULT_DEVICE, device)
    ev.journal.note_peculiar()
    return before


def default_device(ev: Interpreter) -> External | None:
    """Return the default device for new tensors; None if none has been set."""
    kept = ev.environment.values.get(DEFAULT_DEVICE)
    if not kept:
        return None
    return External(kept)


def _default(ev: Interpreter, frame: Frame) -> Value | None:
    """Return the result of `torch.get_default_device()`; torch makes a tensor on the device to find its
    index.
    """
    if DEFAULT_DEVICE not in ev.environment.values:
        return device_named(Const("cpu"))
    device = default_device(ev)
    if device is not None and ":" not in device.name:
        ev.call(frame, External("torch.tensor"), (UNKNOWN,), {"device": device})
    return device


def entered_device(ev: Interpreter, value: Value) -> tuple[str | None] | None:
    """Set the default device for `with torch.device(...)`, and return the one to restore; None if it is no
    device.
    """
    if not isinstance(value, External) or device_text(value) is None:
        return None
    return (set_default_device(ev, value.name),)


#: One tensor or several: an item of several tensors is represented by the same value.
TENSOR = External("torch.Tensor()")
CLASSES = frozenset(
    {"torch.Tensor", "torch._tensor.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter"}
)
#: Modules in which torch's functions are defined or can be found, each with the functions' prefix in the
#: catalogue.
_MODULES = {
    "torch._C._VariableFunctions.": "",
    "torch._C._fft.fft_": "fft.",
    "torch._C._linalg.linalg_": "linalg.",
    "torch._C._nn.": "nn.functional.",
    "torch._C._special.special_": "special.",
    "torch.functional.": "",
    "torch.": "",
}


def is_tensor(ev: Interpreter, value: Value) -> bool:
    """Return True if the value is certainly a tensor that a call returned; `torch.load` may return
    anything.
    """
    if not isinstance(value, External) or not value.name.endswith("()"):
        return False
    made = value.name[:-2]
    return made in CLASSES or (made != "torch.load" and ev.catalogue.returned(made) in CLASSES)


def are_tensors(ev: Interpreter, value: Value) -> bool:
    """Return True if every alternative is a tensor."""
    return all(is_tensor(ev, single) for single, _ in alternatives(value))


def function_of(symbol: str) -> str:
    """Return a torch function's name in the tensor catalogue, such as `nn.functional.relu`; empty
    for others.
    """
    for module, name in _MODULES.items():
        if symbol.startswith(module):
            return name + symbol[len(module) :]
    return ""


def returned_tensor(symbol: str) -> Value | None:
    """Return the tensor that a torch function returns; None if it returns something else."""
    return TENSOR if function_of(symbol) in tensors.FUNCTIONS else None


def tensor_of_method(receivers: Iterable[str], name: str) -> Value | None:
    """Return the tensor that a method of one of these classes returns; None if it returns something else."""
    return TENSOR if name in tensors.METHODS and not CLASSES.isdisjoint(receivers) else None


def tensor_of_attribute(ev: Interpreter, value: External, name: str) -> Value | None:
    """Return the tensor that an attribute of a tensor, or of a named tuple of tensors, holds; else None."""
    return TENSOR if name in tensors.ATTRIBUTES and is_tensor(ev, value) else None
