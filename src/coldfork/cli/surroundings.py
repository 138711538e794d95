"""What imports are watched in, as the settings say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coldfork.launch.probe.trial import ProbeSetup


def surroundings(
    settings: dict[str, Any],
    python: str,
    *,
    forked: bool = False,
    before: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
) -> ProbeSetup:
    """What imports are watched in, as the settings say; modules are sought in `before` and `after`, too."""
    from coldfork.launch.probe.git_bisect import is_bisecting
    from coldfork.launch.probe.trial import ProbeSetup

    base = dict(os.environ)
    if is_bisecting(Path()):
        base["PYTHONDONTWRITEBYTECODE"] = "1"
    return ProbeSetup(
        python=python,
        virtual=settings["virtual"],
        timeout=settings["timeout"],
        forked=forked,
        before=before,
        after=after,
        base=base,
    )
