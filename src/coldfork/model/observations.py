"""The results of one analysis by the static observer, for the rules to judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from coldfork.model.errors import ColdforkError

if TYPE_CHECKING:
    from coldfork.model.effects import Effect
    from coldfork.model.terms.modules import CheckedModule, Import

Progress = Callable[[str, int, int, str], None]
"""Called with the progress of long work: the stage, how much is done, how much there is, and the current
item.
"""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be analysed, and why."""

    path: str
    line: int
    column: int
    reason: str
    own: bool = True
    too_large: bool = False
    """True for a file that was skipped because of its size."""
    invalid: bool = False
    """True for a file that Python could not import either."""
    text: str = ""
    """The line at which reading ended, as it is in the file."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A module that was not followed to its end, so that its further effects are unknown."""

    module: str
    function: str
    """The function in which the analysis ended."""
    path: str
    line: int
    what: str = "budget"
    """`budget` if that was used up, `fault` if coldfork itself failed."""
    own: bool = True
    """False for a module of a dependency."""
    fault: str = ""
    """The error of coldfork, and where it happened."""


@dataclass(frozen=True, slots=True)
class IgnoreComment:
    """A `# coldfork: ignore[rule] reason` comment."""

    path: str
    line: int
    column: int
    rules: tuple[str, ...]
    reason: str
    covers: tuple[int, int]
    """The first and last line of the statement with the comment."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of one analysis."""

    modules: int
    """The number of checked modules and of the modules of dependencies that they import."""
    read: int
    """The number of files that were read and parsed in this run."""
    cached: int
    """The number of files whose summary came from the cache."""
    seconds: float
    own_modules: int = 0
    bytes_read: int = 0


class LeftOut(NamedTuple):
    """A skipped folder or file, and the number of Python files in it."""

    path: str
    files: int
    reason: str = ""
    """Why it was skipped, if its name does not say it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The results of the static observer, for the rules to judge."""

    profile: str
    effects: tuple[Effect, ...]
    unreadable: tuple[Unreadable, ...]
    ignores: tuple[IgnoreComment, ...]
    statistics: Statistics
    absent: tuple[str, ...] = ()
    """Packages that the checked code always imports, but that were not found."""
    affected: tuple[str, ...] | None = None
    """The paths of the checked modules that the changes can affect; None if this was not requested."""
    modules: tuple[CheckedModule, ...] = ()
    """The checked modules, each with its audience."""
    imports: tuple[Import, ...] = ()
    """The imports on the ways from checked modules to lines that wake a device."""
    unset: tuple[tuple[str, str], ...] = ()
    """Packages, each with an environment variable without which some of its imports were skipped."""
    unfinished: tuple[Unfinished, ...] = ()
    leading: tuple[str, ...] = ()
    """The checked modules whose import can lead to the import of a package in question."""
    unfollowed: int = 0
    """The number of lines in the checked code that call unknown code while it is imported."""
    unparsed: int = 0
    """The number of checked files with functions that nothing calls and that have not been read yet."""
    left_out: tuple[LeftOut, ...] = ()
    """Files and folders under the paths that were skipped."""
    further: tuple[str, ...] = ()
    """Profiles of further machines that were checked for."""
    entries: tuple[str, ...] = ()
    """The modules whose import was analysed; empty if each module was analysed by itself."""

    @property
    def profiles(self) -> tuple[str, ...]:
        """Return the profiles of all machines for which the code was checked."""
        return self.profile, *self.further


class Origin(StrEnum):
    """How an environment was found."""

    NAMED = "named"
    """`--python` or `--site-packages` named it."""
    ACTIVE = "active"
    """It is the one that is active in the shell."""
    NEIGHBOUR = "neighbour"
    """It is `.venv` in the current folder."""
    OWN = "own"
    """It is the one that coldfork itself runs in."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much code an answer covers and omits; without this a clean answer would prove nothing."""

    modules: int = 0
    """The number of checked modules that were followed."""
    read: int = 0
    """The number of all modules that were followed, including those of dependencies."""
    entries: tuple[str, ...] = ()
    """The modules whose import was analysed; empty if each module was analysed by itself."""
    unfollowed: int = 0
    """The number of lines in the checked code that call unknown code while it is imported."""
    unparsed: int = 0
    """The number of checked files with functions that nothing calls and that have not been read yet."""
    left_out: tuple[LeftOut, ...] = ()
    """Files and folders under the paths that were skipped."""
    not_asked: tuple[str, ...] = ()
    """Profiles for which this code was not checked."""


@dataclass(frozen=True, slots=True)
class EnvironmentRead:
    """The environment of one check, and the packages and variables that were missing there."""

    folder: str | None
    """Its site-packages, relative to the user's folder; None if there is none."""
    origin: Origin
    read: bool
    """False for coldfork's own environment, if it lacks what the checked code imports."""
    absent: tuple[str, ...] = ()
    """Packages that the checked code always imports, but that were not found; the most imported first."""
    unset: tuple[tuple[str, str], ...] = ()
    """Packages, each with an environment variable that must be set before all its imports are read."""


@dataclass(frozen=True, slots=True)
class ChangeScope:
    """The scope of `--changed-since`: findings in modules that no change can affect are omitted."""

    since: str
    """The revision as the user named it."""
    files: tuple[str, ...]
    """The changed Python files, including new and removed ones, relative to the user's folder."""
    paths: frozenset[str] | None
    """The modules that a change can affect, by their paths in reports; None if all are."""
    modules: int
    """The number of checked modules."""
    left_out: int = 0
    """The number of findings in modules that no change can affect."""
    everything: str = ""
    """A change that affects every module, such as that of a configuration or baseline; empty if there is
    none.
    """

    @property
    def affected(self) -> int:
        """Return how many of the checked modules a change can affect."""
        return self.modules if self.paths is None else len(self.paths)


T = TypeVar("T")

_ROOT = f"{__name__.partition('.')[0]}."
_MOST = 200

FAILED = "coldfork itself failed on it: "
"""How the reason for not reading a file begins if it is coldfork's own fault."""


def describe(problem: Exception) -> str:
    """Return a description of an error and its place in coldfork, for a bug report."""
    said = f"{type(problem).__name__}: {problem}".partition("\n")[0].removesuffix(": ")
    place = _place(problem.__traceback__)
    return f"{said[:_MOST]} ({place})" if place else said[:_MOST]


class Faults:
    """Collects the gaps in an answer that are due to faults of coldfork itself."""

    def __init__(self) -> None:
        self.noted: dict[Unfinished, None] = {}

    def attempt(
        self,
        work: Callable[[], T],
        otherwise: T,
        module: str = "",
        path: str = "",
        line: int = 0,
        function: str = "",
    ) -> T:
        """Return the result of some work; if coldfork fails at it, record the fault and return `otherwise`.

        Without a module, the fault concerns the check as a whole.
        """
        try:
            return work()
        except ColdforkError:
            raise
        except Exception as problem:
            self.note(problem, module, path, line, function)
            return otherwise

    def note(
        self, problem: Exception, module: str = "", path: str = "", line: int = 0, function: str = ""
    ) -> None:
        """Record an error as a fault of coldfork."""
        said = describe(problem)
        self.noted[Unfinished(module, function or module, path, line, "fault", True, said)] = None


def _place(at: TracebackType | None) -> str:
    """Return the innermost line of coldfork in an error's traceback."""
    place = ""
    while at is not None:
        name = at.tb_frame.f_globals.get("__name__", "")
        if name.startswith(_ROOT) and name != __name__:
            place = f"{name.removeprefix(_ROOT)}:{at.tb_lineno}"
        at = at.tb_next
    return place
