"""Check forks of multiprocessing before it creates pipes, so that a refusal leaves nothing behind.

`Popen._launch` opens four file descriptors and then forks. If the fork itself were refused, they would never
be closed. Spawn and forkserver have a `_launch` of their own, which is not changed.
"""

from __future__ import annotations

from coldfork.model.errors import leave_out_first_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Examiner(Protocol):
        """The guard's interface for launches."""

        def before_launch(self, process: Any) -> bool: ...

        def after_launch(self) -> None: ...


_MARK = "coldfork_guards"


def guard_launches(module: object, examiner: Examiner) -> None:
    """Add the check to a module in which multiprocessing forks, unless it is there already."""
    popen: Any = getattr(module, "Popen", None)
    if popen is not None and not hasattr(popen._launch, _MARK):
        popen._launch = _wrapper(popen._launch, examiner)


def _wrapper(original: Callable[[Any, Any], None], examiner: Examiner) -> Callable[[Any, Any], None]:
    def _launch(self: Any, process_obj: Any) -> None:
        examined = examiner.before_launch(process_obj)
        try:
            return original(self, process_obj)
        except BaseException as error:
            leave_out_first_frame(error)
            raise
        finally:
            if examined:
                examiner.after_launch()

    setattr(_launch, _MARK, original)
    return _launch
