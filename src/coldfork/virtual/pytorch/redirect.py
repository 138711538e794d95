"""Do the device's work on the CPU, after waking the device; `redirect=True` turns this on."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from coldfork.virtual.machine import Machine
from coldfork.virtual.pytorch.functions import lazy_init

_FACTORIES = ("empty.memory_format", "empty_strided", "tril_indices", "triu_indices", "_efficientzerotensor")
"""The kernels through which every tensor on a device is made."""

_MOVES = ("to", "cuda", "new_tensor", "pin_memory")
_ALWAYS_MOVING = ("cuda", "pin_memory")
_MAKERS = ("tensor", "as_tensor", "asarray")


class Redirection:
    """The additions of a redirecting device to torch; they must exist as long as torch does."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._library: object = None

    def torch(self, torch: ModuleType) -> None:
        """Register kernels for CUDA that work on the CPU, and keep tensors moved to CUDA on the CPU."""
        from torch.library import Library

        library: Any = Library("aten", "IMPL")
        for name in _FACTORIES:
            operator, _, overload = name.partition(".")
            packet = getattr(torch.ops.aten, operator)
            library.impl(name, self._on_cpu(getattr(packet, overload or "default")), "CUDA")
        self._library = library
        tensor = torch.Tensor
        for name in _MOVES:
            setattr(tensor, name, self._moving(name, getattr(tensor, name)))
        for name in _MAKERS:
            setattr(torch, name, self._making(getattr(torch, name)))

    def _making(self, make: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(make)
        def made(*arguments: Any, device: Any = None, **words: Any) -> object:
            place = self._where(device)
            result: Any = make(*arguments, device=place, **words)
            return result if place is device else result.clone()

        return made

    def _moving(self, name: str, move: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(move)
        def moved(tensor: Any, *arguments: Any, **words: Any) -> object:
            if type(tensor).__name__ in ("FakeTensor", "FunctionalTensor"):
                return move(tensor, *arguments, **words)
            if name in _ALWAYS_MOVING:
                self._wake()
                return tensor.clone()
            places = [self._where(argument) for argument in arguments]
            names = {word: self._where(value) if word == "device" else value for word, value in words.items()}
            result: Any = move(tensor, *places, **names)
            # A move to a device makes a copy, so changes to the result must not affect the original.
            asked = [*arguments, *words.values()]
            redirected = any(
                given is not kept for given, kept in zip(asked, [*places, *names.values()], strict=True)
            )
            return tensor.clone() if redirected and result is tensor else result

        return moved

    def _on_cpu(self, operator: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(operator)
        def kernel(*arguments: Any, **words: Any) -> object:
            self._wake()
            words.pop("pin_memory", None)
            return operator(*arguments, **words | {"device": "cpu"})

        return kernel

    def _where(self, asked: Any) -> Any:
        """Return the CPU for a CUDA device; return anything else unchanged."""
        torch: Any = sys.modules["torch"]
        if isinstance(asked, int) and not isinstance(asked, bool):
            return asked
        kind = asked.type if isinstance(asked, torch.device) else asked
        if not isinstance(kind, str) or kind.partition(":")[0] != "cuda" or _fake_mode(torch):
            return asked
        self._wake()
        return "cpu"

    def _wake(self) -> None:
        lazy_init()
        self._machine.driver.retain(self._machine.chosen)


def _fake_mode(torch: Any) -> bool:
    keys = torch._C._TorchDispatchModeKey
    return torch._C._get_dispatch_mode(keys.FAKE) is not None
