"""Find the line of an ordinary wake, by polling after each call that usually wakes a device.

Between two imports nothing is checked, and a wake that is found at the next one has no line. Most wakes go
through two functions inside PyTorch, so the states are read after each call of these, until the device is
awake. Functions that programs themselves call, or that `torch.compile` knows by identity, are not wrapped.
"""

from __future__ import annotations

import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from coldfork.observe.attribution import Attribution

CALLS = {
    "torch.cuda": (("torch.cuda", "_lazy_init"), ("torch._C", "_cuda_getDeviceCount")),
    "torch.xpu": (("torch.xpu", "_lazy_init"), ("torch._C", "_xpu_getDeviceCount")),
}
"""The functions to wrap when these modules are loaded: module and function."""


class _Here:
    """Where a thread was when it called a waking function."""

    def __init__(self, frame: FrameType, name: str) -> None:
        self.frame = frame
        self.line = frame.f_lineno or 0
        self._name = name

    def callee(self) -> str | None:
        return self._name


class WakingCalls:
    """The wrappers around waking functions; they remove themselves once a device has woken."""

    def __init__(self, attribution: Attribution, trouble: Callable[[str, BaseException], None]) -> None:
        self._attribution = attribution
        self._trouble = trouble
        self._inside: set[int] = set()
        """The threads that are in one of these calls; nested calls count as one wake."""
        self._wrapped: list[tuple[dict[str, Any], str, Any, Any]] = []

    def install(self) -> None:
        """Wrap the waking functions of modules that are already loaded."""
        for name in CALLS:
            if name in sys.modules:
                self.loaded(name)

    def loaded(self, module: str) -> None:
        """Wrap the waking functions of a newly loaded module."""
        for home, name in CALLS.get(module, ()):
            if home not in sys.modules:
                continue
            # Read from the dictionary, because the module may customise attribute access.
            names = object.__getattribute__(sys.modules[home], "__dict__")
            original = names.get(name)
            if callable(original) and not any(wrapper is original for *_, wrapper in self._wrapped):
                names[name] = wrapper = self._wrapper(original, f"{home}.{name}")
                self._wrapped.append((names, name, original, wrapper))

    def remove(self) -> None:
        """Restore the original functions, except those that other code has replaced since."""
        while self._wrapped:
            names, name, original, wrapper = self._wrapped.pop()
            if names.get(name) is wrapper:
                names[name] = original

    def _wrapper(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        from functools import wraps

        @wraps(original)
        def watched(*arguments: Any, **named: Any) -> Any:
            me = get_ident()
            outermost = me not in self._inside
            self._inside.add(me)
            try:
                return original(*arguments, **named)
            except BaseException as error:
                # Ours is no frame of the program's; a bare `raise` does not put it back.
                error.__traceback__ = (
                    error.__traceback__ and error.__traceback__.tb_next
                ) or error.__traceback__
                raise
            finally:
                if outermost:
                    self._inside.discard(me)
                    self._look(_Here(sys._getframe(1), name))

        return watched

    def _look(self, here: _Here) -> None:
        try:
            change = self._attribution.change()
            if change is not None:
                self._attribution.report(change, here)
                if any(accelerator != "openmp" for accelerator, _ in change[0]):
                    self.remove()
        except Exception as error:
            self._trouble("call", error)
