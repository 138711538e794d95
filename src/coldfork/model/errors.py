"""The errors that coldfork raises on purpose, all with one base class."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.model.decisions import Reason


class ColdforkError(Exception):
    """Base class of every error that coldfork raises on purpose."""


class UsageError(ColdforkError):
    """A request cannot be carried out, for example because a path is missing or a name is unknown."""


class ConfigurationError(ColdforkError):
    """`[tool.coldfork]` contains an unknown key or an invalid value; the message suggests a near match."""


class CheckCancelledError(ColdforkError):
    """A check was ended because `cancelled` returned True; its session can make further checks."""


class Cancellation(BaseException):
    """An analysis was cancelled. This is not an `Exception`, so that no function takes it for a failure."""


class KnowledgeError(ColdforkError):
    """An entry of the catalogue, built-in or your own, is malformed; the message names file and entry."""


class UnsafeForkError(ColdforkError, RuntimeError):
    """A fork was refused in the parent, because its child would inherit something that it cannot use.

    No process was started, and nothing is left of the attempt. The message says what speaks against the fork,
    which code woke it (if that was observed), and what to do instead.
    """

    def __init__(self, message: str, reasons: tuple[Reason, ...] = (), call: str = "os.fork") -> None:
        super().__init__(message, reasons, call)
        self.message = message
        self.reasons = reasons
        """The reasons against the fork, the heaviest first."""
        self.call = call
        """The call that was about to fork: `os.fork`, `os.forkpty`, or a multiprocessing process by name."""

    def __str__(self) -> str:
        return self.message


class ZygoteError(ColdforkError):
    """No server could be started to fork workers: importing a module failed, or made the server unfit.

    The message says which of these happened, and names the line that woke a device, started a thread or left
    a process.
    """

    def __init__(self, message: str, module: str | None = None) -> None:
        super().__init__(message, module)
        self.message = message
        self.module = module
        """The preloaded module that is at fault, if one is."""

    def __str__(self) -> str:
        return self.message


class LeaseError(ColdforkError):
    """The requested devices could not be leased: none is visible, or other processes hold them.

    For each device, the message says which processes hold it, or how much of its memory is free.
    """

    def __init__(self, message: str, holders: tuple[int, ...] = (), may_pass: bool = False) -> None:
        super().__init__(message, holders, may_pass)
        self.message = message
        self.holders = holders
        """The processes that hold leases on the requested devices."""
        self.may_pass = may_pass
        """Whether waiting may help, because others hold the devices or their memory."""

    def __str__(self) -> str:
        return self.message


class UnsafeForkWarning(RuntimeWarning):
    """Under `guard("warn")`: a fork's child inherits something that it cannot use."""


def leave_out_first_frame(error: BaseException) -> None:
    """Take the function that caught an error out of its traceback; a bare `raise` does not put it back.

    A wrapper of ours around a function of the program calls it, so that the program's traceback shows only
    the program.
    """
    trace = error.__traceback__
    if trace is not None and trace.tb_next is not None:
        error.__traceback__ = trace.tb_next
