"""Programs that fail for real, and what they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from coldfork.model.diagnosis import Story
from tests.diagnose.corpus import explained


def said_by(program: str, folder: Path) -> str:
    """Return what this program prints before it ends."""
    script = folder / "program.py"
    script.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "always", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout


def only_story(text: str) -> Story:
    """The one story of a log."""
    (story,) = explained(text).stories
    return story


def names(text: str) -> list[str]:
    """The stories of a log."""
    return [story.name for story in explained(text).stories]


def raised(message: str, *frames: str) -> str:
    """A traceback with these calls and this error."""
    calls = "".join(
        f"  {frame}\n    pass\n" for frame in frames or ('File "/srv/train.py", line 3, in step',)
    )
    return f"Traceback (most recent call last):\n{calls}{message}\n"
