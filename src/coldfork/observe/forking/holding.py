"""A held thing, and the interface through which the search for held things sees a process."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from coldfork.observe.forking.idle_threads import PythonThread
    from coldfork.observe.probes.reading import Reading
    from coldfork.observe.probes.threads import NativeThread

    class Holder(Protocol):
        """The interface of a process: the readings of its probes, its threads and its modules."""

        readings: Mapping[str, Reading]
        threads: Sequence[NativeThread] | None
        module: Callable[[str], Mapping[str, Any] | None]
        setting: Callable[[str], str | None]

        @property
        def python_threads(self) -> Sequence[PythonThread]: ...

        def mine(self, worker: NativeThread) -> bool | None: ...


class Holding:
    """One thing that a process holds, with its description and evidence."""

    __slots__ = ("accelerator", "aside", "code", "doubtful", "evidence", "name", "what")

    def __init__(
        self,
        name: str,
        code: str,
        what: str,
        aside: str = "",
        *,
        accelerator: str | None = None,
        doubtful: bool = False,
        evidence: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.name: str = name
        """`cuda`, `openmp`, `numba`, `tokenizers`, `grpc`, `threads`, or for a lock the name of what it
        guards.
        """
        self.code: str = code
        self.what: str = what
        """A clause such as `cuda is awake here`."""
        self.aside: str = aside
        """The text that follows the waker's name in that clause."""
        self.accelerator: str | None = accelerator
        self.doubtful: bool = doubtful
        """True if it is unknown whether the thing is held, or what it does."""
        self.evidence: tuple[tuple[str, str], ...] = evidence

    def as_object(self) -> dict[str, Any]:
        """Return the held thing as an entry of a recording."""
        return {"name": self.name, "code": self.code, "doubtful": self.doubtful}

    def __repr__(self) -> str:
        return f"<{self.name}: {self.what}>"
