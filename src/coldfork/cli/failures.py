"""Exit statuses and messages for a command that could not do its work."""

from __future__ import annotations

ERROR = 2
"""The exit status of a command that could not do its work."""
INTERRUPTED = 130
"""The status that a shell reports for a program ended by Ctrl-C."""
DEBUG = "--debug"
"""Shows the traceback of internal errors; it is searched for in all arguments, as parsing may have failed."""


def note(text: str) -> None:
    """Print a message on standard error."""
    from coldfork.cli import output

    output.note(text)


def explained(error: Exception, *, debug: bool) -> int:
    """Print a line about an error, or its traceback; return the exit status."""
    import errno

    from coldfork.model.errors import ColdforkError

    if debug:
        import traceback

        traceback.print_exc()
    elif isinstance(error, ColdforkError):
        note(str(error))
    elif isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        note(f"{error.strerror}: raise the limit, for example with ulimit -n 1024, and run it again")
    else:
        kind = type(error).__name__
        note(f"internal error: {kind}: {error}; run it again with --debug, and report what it says")
    return ERROR
