"""`coldfork check --fix` and `--diff`: mends what a check finds, or shows the patch."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from coldfork.cli import output
from coldfork.cli.inspection import asked
from coldfork.mending.mender import MendedFile, Mending, mend
from coldfork.mending.patch import patch
from coldfork.model.causes import Applicability
from coldfork.model.errors import UsageError
from coldfork.model.findings import Report
from coldfork.report.shared.progress import ProgressBar
from coldfork.report.shared.quantities import plural


def mended(context: click.Context, paths: tuple[Path, ...]) -> tuple[Mending, dict[str, Any]]:
    """Mend what the paths hold, in memory; the settings come with it."""
    from coldfork.checking.session import CheckSession
    from coldfork.rules.registry import selection

    request, settings = asked(context, paths)
    if Path("-") in paths:
        raise UsageError("what standard input holds is not written anywhere; give files")
    if settings["confirm"]:
        raise UsageError("--confirm is about what is found, and --fix changes that; give one of them")
    only = context.params["fix_only"]
    is_bold = context.params["fix"] == Applicability.UNSAFE
    allowed = Applicability.UNSAFE if is_bold else Applicability.SAFE
    with CheckSession(cache=request.cache) as session, ProgressBar(sys.stderr) as bar:
        done = mend(
            request,
            lambda each: session.inspect(each, bar.update),
            allowed,
            frozenset(selection(only, ()) if only else ()),
        )
    return done, settings


def show(done: Mending) -> bool:
    """Print the patch; True when there is one."""
    output.write_bytes(patch(done.files, _from_here))
    return bool(done.files)


def apply(done: Mending) -> None:
    """Write the files, each whole or not at all, and say what was mended."""
    left = [file for file in done.files if not _write(file)]
    for file in left:
        output.note(f"{_from_here(file.file)} has changed meanwhile and was left as it is; run it again")
    written = len(done.files) - len(left)
    if written:
        causes = "" if left else f"{plural(len(done.mended), 'cause')} in "
        output.note(f"mended {causes}{plural(written, 'file')}")


def _write(file: MendedFile) -> bool:
    path = Path(file.file)
    if path.read_bytes() != file.before:
        return False
    output.save_bytes(file.after, path, mode=0)
    return True


def reported(done: Mending) -> Report:
    """The report of what is left, with the fixes not asked for, and why there is none for the rest."""
    return replace(done.report, fixes=done.left)


def _from_here(file: str) -> str:
    return os.path.relpath(file).replace(os.sep, "/")
