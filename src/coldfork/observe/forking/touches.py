"""Notice, by a framework's error, that a forked child touches something that its parent held.

The error is seen twice: where it is raised, and where it leaves the code that might have caught it. If the
child's program catches it, the program may continue without the device; if only a server around the program
catches it, it has failed.

Everything is imported in the parent. In the child only attributes are set: after a fork, an import or a lock
may wait for a thread that is gone. The one module that is needed later is imported through `late_imports`, or
not at all.
"""

from __future__ import annotations

import sys

from coldfork.observe.forking.handlers import leaves_the_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

_WORDS = {
    "cuda": ("cuda", "nvidia", "nvml"),
    "rocm": ("hip", "rocm", "cuda", "hsa"),
    "xpu": ("xpu", "sycl", "level zero", "level_zero"),
    "opencl": ("opencl", "clget", "pyopencl"),
    "jax": ("jax", "xla"),
    "jax-cpu": ("jax", "xla"),
}
"""Phrases in a framework's errors about each accelerator, in lower case; other accelerators hang silently."""

_DEEPEST = 10

#: Functions whose errors are always about an accelerator: module, function, accelerators.
_SOURCES = (
    ("torch.cuda", "_lazy_init", ("cuda", "rocm")),
    ("torch.xpu", "_lazy_init", ("xpu",)),
)
#: Methods through which an exception leaves a child: module, class, method.
_RUNNERS = (
    ("multiprocessing.process", "BaseProcess", "run"),
    ("billiard.process", "BaseProcess", "run"),
    ("multiprocess.process", "BaseProcess", "run"),
)
#: Classes in which workers wrap an error for their parent; the error is an argument, or the one being
#: handled.
_CARRIERS = (
    ("multiprocessing.pool", "ExceptionWithTraceback"),
    ("multiprocess.pool", "ExceptionWithTraceback"),
    ("billiard.einfo", "ExceptionInfo"),
    ("concurrent.futures.process", "_ExceptionWithTraceback"),
    ("loky.process_executor", "_ExceptionWithTraceback"),
    ("joblib.externals.loky.process_executor", "_ExceptionWithTraceback"),
    ("torch._utils", "ExceptionWrapper"),
)
_HOOKS = (("sys", "excepthook"), ("threading", "excepthook"))
#: Functions with which a worker merely logs the error of its initializer, before it ends with status 0.
_LOGS = (("concurrent.futures._base", "LOGGER", "critical"),)

WRAPPED = frozenset(place[0] for place in (*_SOURCES, *_RUNNERS, *_CARRIERS, *_HOOKS, *_LOGS))
"""The modules in which something is wrapped."""

_MARK = "coldfork_hears_errors"
_FRAMEWORKS = ("torch", "coldfork", "jax", "cupy", "numba", "pyopencl")


class Touches:
    """Watches for the errors of a child that has touched something that its parent held."""

    def __init__(self, seen: Callable[[BaseException, str, bool], None]) -> None:
        self._seen = seen
        """Called with an error, the runtime that it is about, and whether it is leaving the code that might
        have caught it."""
        self._accelerators: set[str] = set()

    def arm(self, accelerators: Iterable[str]) -> bool:
        """In the child, begin to catch errors about these runtimes; return False if none of them raises
        errors.
        """
        self._accelerators = _WORDS.keys() & set(accelerators)
        for name in WRAPPED if self._accelerators else ():
            self.loaded(name)
        return bool(self._accelerators)

    def loaded(self, name: str) -> None:
        """Wrap the functions of a newly loaded module through which errors pass."""
        if not self._accelerators:
            return
        module: Any = sys.modules.get(name)
        for _, function, accelerators in (one for one in _SOURCES if one[0] == name):
            about = sorted(self._accelerators.intersection(accelerators))
            if about:
                self._wrap(module, function, self._calling(about[0]))
        for _, owner, function in (one for one in _RUNNERS if one[0] == name):
            self._wrap(getattr(module, owner, None), function, self._at_call)
        for _, owner in (one for one in _CARRIERS if one[0] == name):
            self._wrap(getattr(module, owner, None), "__init__", self._at_carrier)
        for _, function in (one for one in _HOOKS if one[0] == name):
            self._wrap(module, function, self._at_hook)
        for _, logger, function in (one for one in _LOGS if one[0] == name):
            self._wrap_log(getattr(module, logger, None), function)

    def hear(self, error: object, certainly: str | None = None) -> None:
        """Report an error, or one of its causes, if it is about one of the runtimes."""
        try:
            for one in _chain(error):
                about = certainly or self._about(one)
                if about is not None:
                    leaves = certainly is None or leaves_the_program(one, sys._getframe(2))
                    self._seen(one, about, leaves)
                    return
        except Exception:
            # The error's own methods have failed; the program's error must be reported all the same.
            return

    def _about(self, error: BaseException) -> str | None:
        said = f"{type(error).__module__}.{type(error).__name__} {error}".lower()
        fitting = (name for name in sorted(self._accelerators) if any(word in said for word in _WORDS[name]))
        return next(fitting, None)

    def _wrap(self, owner: Any, name: str, wrapper: Callable[[Any], Callable[..., Any]]) -> None:
        # Read from the module's or class's dictionary, because either may customise attribute access.
        original = getattr(owner, "__dict__", {}).get(name)
        if not callable(original) or getattr(original, _MARK, None) is self:
            return
        made = wrapper(original)
        setattr(made, _MARK, self)
        if isinstance(owner, type):
            setattr(owner, name, made)
        else:
            owner.__dict__[name] = made

    def _wrap_log(self, logger: Any, name: str) -> None:
        original = getattr(logger, name, None)
        if not callable(original) or getattr(original, _MARK, None) is self:
            return

        def logging(*arguments: Any, **named: Any) -> Any:
            self.hear(sys.exc_info()[1])
            return original(*arguments, **named)

        setattr(logging, _MARK, self)
        logger.__dict__[name] = logging

    def _calling(self, accelerator: str) -> Callable[[Any], Callable[..., Any]]:
        """Return a decorator for a function whose errors are all about this accelerator."""

        def at_call(original: Any) -> Callable[..., Any]:
            return self._at_call(original, certainly=accelerator)

        return at_call

    def _at_call(self, original: Any, *, certainly: str | None = None) -> Callable[..., Any]:
        def guarded(*arguments: Any, **named: Any) -> Any:
            try:
                return original(*arguments, **named)
            except Exception as error:
                self.hear(error, certainly)
                # Ours is no frame of the program's; a bare `raise` does not put it back.
                error.__traceback__ = (
                    error.__traceback__ and error.__traceback__.tb_next
                ) or error.__traceback__
                raise

        return guarded

    def _at_carrier(self, original: Any) -> Callable[..., Any]:
        def __init__(carrier: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807
            given = arguments[0] if arguments else None
            self.hear(given if isinstance(given, BaseException) else sys.exc_info()[1])
            original(carrier, *arguments, **named)

        return __init__

    def _at_hook(self, original: Any) -> Callable[..., Any]:
        def excepthook(*arguments: Any) -> Any:
            # `sys.excepthook` gets a type, an error and a traceback; `threading.excepthook` gets one record.
            error = arguments[1] if len(arguments) > 1 else getattr(arguments[0], "exc_value", None)
            self.hear(error)
            return original(*arguments)

        return excepthook


def _chain(error: object) -> Iterator[BaseException]:
    """Yield an error, and then its causes."""
    for _ in range(_DEEPEST):
        if not isinstance(error, BaseException):
            return
        yield error
        error = error.__cause__ or error.__context__


def line_of(error: BaseException) -> tuple[str, int] | None:
    """Return the line of the program in which the child touched something that it could not use."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        if _is_of_the_program(trace.tb_frame):
            found = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    # While an error is propagating, the outer frames are still on the stack and not yet in its traceback.
    frame = sys._getframe()
    while found is None and frame.f_back is not None:
        frame = frame.f_back
        if _is_of_the_program(frame):
            found = frame.f_code.co_filename, frame.f_lineno
    return found


def _is_of_the_program(frame: Any) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] not in _FRAMEWORKS
