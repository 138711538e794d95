"""`coldfork check --fix` and `--diff`: mends the findings of a check, and shows and proves the patch."""

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
from coldfork.model.probes import Proof
from coldfork.report.findings.words import fix_sentence
from coldfork.report.shared.options import Options
from coldfork.report.shared.progress import ProgressBar
from coldfork.report.shared.quantities import plural

_MOST = 5
"""This many causes that a patch leaves are explained one by one."""
_STAND_IN = "h100"
"""The virtual device for a proof if none is named."""


def mended(context: click.Context, paths: tuple[Path, ...]) -> tuple[Mending, dict[str, Any]]:
    """Mend the files in the paths, without writing them; return the result and the settings."""
    from coldfork.checking.session import CheckSession
    from coldfork.rules.registry import selection

    request, settings = asked(context, paths)
    if Path("-") in paths and (context.params["fix"] or context.params["prove"]):
        raise UsageError("fixes for standard input cannot be written to a file; use --diff without --fix")
    if settings["confirm"]:
        raise UsageError("--confirm and --fix exclude each other; give one of them")
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


def show(done: Mending) -> tuple[MendedFile, ...]:
    """Print the patch, and why it leaves some causes out; return the files that it changes."""
    output.write_bytes(patch(done.files, _from_here))
    left = [cause for cause in done.report.causes if cause.id in done.left]
    if not done.files and not left:
        output.note("nothing to mend was found, so there is no patch")
    for cause in left[:_MOST]:
        output.note(f"{done.inspection.locate(cause.path)}:{cause.line}: {fix_sentence(done.left[cause.id])}")
    if len(left) > _MOST:
        more = plural(len(left) - _MOST, "more cause")
        output.note(f"and {more} that the patch leaves; --fix --format json names each")
    return done.files


def apply(done: Mending) -> tuple[MendedFile, ...]:
    """Write the mended files, each whole or not at all, and print a summary; return the files written."""
    written = tuple(file for file in done.files if write(file))
    for file in done.files:
        if file not in written:
            output.note(f"{_from_here(file.file)} changed meanwhile and was left unchanged; run it again")
    if written:
        causes = f"{plural(len(done.mended), 'cause')} in " if written == done.files else ""
        output.note(f"mended {causes}{plural(len(written), 'file')}")
    return written


def proven(done: Mending, files: tuple[MendedFile, ...], settings: dict[str, Any]) -> Proof:
    """Import the files and run the project's tests, before and after mending; return the comparison."""
    from coldfork.cli.surroundings import import_setup
    from coldfork.launch.plumbing.ask import command_signals, require_watching
    from coldfork.mending.proving import ProofRequest, prove

    require_watching("check --prove")
    command = settings["test-command"]
    if files:
        tests = f", and run `{command}` twice" if command else ""
        output.note(f"--prove: import {plural(len(files), 'mended module')}, before and after{tests}")
    configuration = done.inspection.request.configuration
    request = ProofRequest(
        import_setup({**settings, "virtual": settings["virtual"] or _STAND_IN}),
        configuration.folder if configuration.file is not None else Path.cwd(),
        command,
        settings["jobs"],
    )
    with command_signals(), ProgressBar(sys.stderr, guesses=True) as bar:
        return prove(done, files, request, bar.update)


def tell(proof: Proof | None, settings: dict[str, Any], options: Options) -> None:
    """Write the proof of a patch to the output file, or without one to standard error."""
    if proof is None:
        return
    from coldfork.report.proof import proof_markdown, proof_text

    form = settings["format"]
    if form not in ("text", "markdown"):
        raise UsageError(f"--prove with --diff does not write {form}; choose text or markdown")
    text = proof_markdown(proof, options) if form == "markdown" else proof_text(proof)
    if settings["output"]:
        output.save(text, Path(settings["output"]))
    else:
        output.note(f"the proof\n{text.rstrip()}")


def write(file: MendedFile) -> bool:
    """Write a mended file and return True; if it has changed meanwhile, leave it alone and return False."""
    path = Path(file.file)
    if path.read_bytes() != file.before:
        return False
    output.save_bytes(file.after, path, mode=0)
    return True


def reported(done: Mending) -> Report:
    """Return the report of the findings left after mending, with their fixes that were not applied."""
    return replace(done.report, fixes=done.left)


def _from_here(file: str) -> str:
    return os.path.relpath(file).replace(os.sep, "/")
