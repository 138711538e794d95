"""A copy of torch with another message, to see that what a program says comes from torch's own file."""

from __future__ import annotations

import shutil
from pathlib import Path

MESSAGE = "Cannot re-initialize CUDA in forked subprocess"


def altered(torch: Path, place: Path, message: str) -> Path:
    """A folder to import torch from that is the installed one, but for the words of its fork message.

    All but the one file are links, as the rest of torch is most of a gigabyte.
    """
    shutil.rmtree(place, ignore_errors=True)
    copy = place / "torch"
    _link_all(torch, copy, but="cuda")
    _link_all(torch / "cuda", copy / "cuda", but="__init__.py")
    text = (torch / "cuda" / "__init__.py").read_text(encoding="utf-8")
    if text.count(MESSAGE) != 1:
        raise ValueError(f"{torch / 'cuda'} does not hold the message exactly once")
    (copy / "cuda" / "__init__.py").write_text(text.replace(MESSAGE, message), encoding="utf-8")
    return place


def _link_all(source: Path, target: Path, *, but: str) -> None:
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name not in (but, "__pycache__"):
            (target / entry.name).symlink_to(entry)
