"""How the command ends that could not do its work: the statuses, and what is said."""

from __future__ import annotations

ERROR = 2
"""The command could not do its work."""
INTERRUPTED = 130
"""The status that a shell gives a program that Ctrl-C ended."""
DEBUG = "--debug"
"""Shows the traceback when coldfork itself fails; looked for everywhere, for options may be what is wrong."""


def note(text: str) -> None:
    """Say something beside the result, on standard error."""
    from coldfork.cli import output

    output.note(text)


def explained(error: Exception, *, debug: bool) -> int:
    """Say in a line what went wrong with this command, or show where; the exit status."""
    import errno

    from coldfork.model.errors import ColdforkError

    if debug:
        import traceback

        traceback.print_exc()
    elif isinstance(error, ColdforkError):
        note(str(error))
    elif isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        note(f"{error.strerror}: raise the limit, as with ulimit -n 1024, and run it again")
    else:
        kind = type(error).__name__
        note(f"internal error: {kind}: {error}; run it again with --debug, and report what it says")
    return ERROR
