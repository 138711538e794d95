"""Tells a framework's error in a poisoned child where the poison comes from: from its parent.

Everything is imported in the parent. In the child only attributes are set: after a fork, an import or a lock
may wait for a thread that is gone.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from coldfork.start.guard import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from coldfork.model.decisions import Reason

_WORDS = {
    "cuda": ("cuda", "nvidia", "nvml"),
    "rocm": ("hip", "rocm", "cuda", "hsa"),
    "xpu": ("xpu", "sycl", "level zero", "level_zero"),
    "opencl": ("opencl", "clget", "pyopencl"),
    "jax": ("jax", "xla"),
    "jax-cpu": ("jax", "xla"),
}
"""How a framework's error about each accelerator reads, in lower case; the others hang in silence."""

_DEEPEST = 10

#: What raises for an accelerator, whatever the text: module, function, accelerators.
_SOURCES = (
    ("torch.cuda", "_lazy_init", ("cuda", "rocm")),
    ("torch.xpu", "_lazy_init", ("xpu",)),
)
#: Where an exception leaves a child: module, class, method.
_RUNNERS = (
    ("multiprocessing.process", "BaseProcess", "run"),
    ("billiard.process", "BaseProcess", "run"),
)
#: Both take the exception and its traceback, and make a text of them for the parent.
_CARRIERS = (
    ("multiprocessing.pool", "ExceptionWithTraceback"),
    ("concurrent.futures.process", "_ExceptionWithTraceback"),
)
_HOOKS = (("sys", "excepthook"), ("threading", "excepthook"))

_MARK = "coldfork_adds_notes"


class Notes:
    """The note of this process, if it was forked poisoned, and the wrappers that add it to errors."""

    def __init__(self) -> None:
        self.text: str | None = None
        self._accelerators: set[str] = set()
        self._parent = 0

    def prepare(self) -> None:
        """In the parent, before the fork: note whose child this will be."""
        self._parent = os.getpid()

    def arm(self, reasons: tuple[Reason, ...]) -> None:
        """In the child: errors about these runtimes get the note from here on."""
        self._accelerators = _WORDS.keys() & {reason.accelerator for reason in reasons}
        if not self._accelerators:
            return
        self.text = messages.note(reasons, self._parent)
        for name in {place[0] for place in (*_SOURCES, *_RUNNERS, *_CARRIERS, *_HOOKS)}:
            self.loaded(name)

    def loaded(self, name: str) -> None:
        """A module has been loaded: what errors pass through in it is wrapped too."""
        if self.text is None:
            return
        module: Any = sys.modules.get(name)
        for _, function, accelerators in (one for one in _SOURCES if one[0] == name):
            if self._accelerators.intersection(accelerators):
                self._wrap(module, function, partial(self._at_call, certainly=True))
        for _, owner, function in (one for one in _RUNNERS if one[0] == name):
            self._wrap(getattr(module, owner, None), function, self._at_call)
        for _, owner in (one for one in _CARRIERS if one[0] == name):
            self._wrap(getattr(module, owner, None), "__init__", self._at_carrier)
        for _, function in (one for one in _HOOKS if one[0] == name):
            self._wrap(module, function, self._at_hook)

    def add(self, error: object, *, certainly: bool = False) -> None:
        """Add the note to an error, or to what caused it, if it is about one of the runtimes."""
        try:
            for one in _chain(error):
                if (certainly or self._fits(one)) and self.text is not None:
                    if self.text not in getattr(one, "__notes__", ()):
                        one.add_note(self.text)
                    return
        except Exception:
            # The error is the program's; whatever it does when it is asked, it must reach its reader.
            return

    def _fits(self, error: BaseException) -> bool:
        said = f"{type(error).__module__}.{type(error).__name__} {error}".lower()
        return any(word in said for name in self._accelerators for word in _WORDS[name])

    def _wrap(self, owner: Any, name: str, wrapper: Callable[[Any], Callable[..., Any]]) -> None:
        # Only what is a name of the module or class itself: neither may have other ideas of its attributes.
        original = getattr(owner, "__dict__", {}).get(name)
        if not callable(original) or hasattr(original, _MARK):
            return
        made = wrapper(original)
        setattr(made, _MARK, original)
        if isinstance(owner, type):
            setattr(owner, name, made)
        else:
            owner.__dict__[name] = made

    def _at_call(self, original: Any, *, certainly: bool = False) -> Callable[..., Any]:
        def guarded(*arguments: Any, **named: Any) -> Any:
            try:
                return original(*arguments, **named)
            except Exception as error:
                self.add(error, certainly=certainly)
                raise

        return guarded

    def _at_carrier(self, original: Any) -> Callable[..., Any]:
        def __init__(carrier: Any, error: Any, *rest: Any) -> None:  # noqa: N807
            self.add(error)
            original(carrier, error, *rest)

        return __init__

    def _at_hook(self, original: Any) -> Callable[..., Any]:
        def excepthook(*arguments: Any) -> Any:
            # sys.excepthook is called with type, error and traceback, that of threading with one record.
            error = arguments[1] if len(arguments) > 1 else getattr(arguments[0], "exc_value", None)
            self.add(error)
            return original(*arguments)

        return excepthook


def _chain(error: object) -> Iterator[BaseException]:
    """An error and what caused it, the error first."""
    for _ in range(_DEEPEST):
        if not isinstance(error, BaseException):
            return
        yield error
        error = error.__cause__ or error.__context__
