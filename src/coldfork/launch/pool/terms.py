"""What a pool was asked to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    class Lease(Protocol):
        """Devices that one worker may use, and nobody else meanwhile."""

        @property
        def device(self) -> str:
            """Which they are, for people."""

        @property
        def variables(self) -> Mapping[str, str]:
            """What tells the worker's libraries."""

        def release(self) -> None:
            """Let others have them."""


@dataclass(frozen=True, slots=True)
class PoolTerms:
    """What the makers of workers need to know."""

    workers: int
    preload: Sequence[str] | os.PathLike[str] = ()
    main: Mapping[str, Any] = field(default_factory=dict)
    """How a worker imports the main module; empty where it cannot."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    leases: tuple[Lease, ...] = ()
    """One for each place, or none at all."""
    initializer: Callable[..., object] | None = None
    initargs: tuple[object, ...] = ()
    max_tasks: int | None = None
    max_memory: int | None = None
    max_queue: int | None = None
    log_dir: Path | None = None
    most_logged: int = 16 << 20
    """Bytes of each worker's log; when there would be more, what there is is set aside."""

    def lease(self, place: int) -> Lease | None:
        """What the worker of this place has leased."""
        return self.leases[place] if self.leases else None
