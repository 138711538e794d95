"""The results of the static observer in one analysis, for the rules to judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import NamedTuple, TypeVar

from coldfork.model.causes import CheckedModule, Import
from coldfork.model.effects import Effect
from coldfork.model.errors import ColdforkError

Progress = Callable[[str, int, int, str], None]
"""Called with the progress of long work: the stage, how much is done, of how much, and the current item."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be analysed, and why."""

    path: str
    line: int
    column: int
    reason: str
    own: bool = True
    too_large: bool = False
    """True for a file that was skipped for its size."""
    invalid: bool = False
    """True for a file that Python could not import either."""
    text: str = ""
    """The line at which reading ended, as in the file."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A module that was not followed to its end, so that its further effects are unknown."""

    module: str
    function: str
    """The function in which following ended."""
    path: str
    line: int
    what: str = "budget"
    """`budget` where that was used up, `fault` where coldfork itself failed."""
    own: bool = True
    """False for a module of a dependency."""
    fault: str = ""
    """Which of coldfork's own errors it was, and where."""


@dataclass(frozen=True, slots=True)
class IgnoreComment:
    """A `# coldfork: ignore[rule] reason` comment."""

    path: str
    line: int
    column: int
    rules: tuple[str, ...]
    reason: str
    covers: tuple[int, int]
    """First and last line of the statement that has the comment."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of one analysis."""

    modules: int
    """Checked modules and the modules of dependencies they import."""
    read: int
    """Files that were read and parsed in this run."""
    cached: int
    """Files whose summary came from the cache."""
    seconds: float
    own_modules: int = 0
    bytes_read: int = 0


class LeftOut(NamedTuple):
    """A skipped folder or file, and the number of Python files in it."""

    path: str
    files: int
    reason: str = ""
    """Why, where its name does not say it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The results of the static observer, for the rules to judge."""

    profile: str
    effects: tuple[Effect, ...]
    unreadable: tuple[Unreadable, ...]
    ignores: tuple[IgnoreComment, ...]
    statistics: Statistics
    absent: tuple[str, ...] = ()
    """Packages that the checked code always imports, and that were not found beside it."""
    affected: tuple[str, ...] | None = None
    """The paths of the checked modules that the changes can affect; None when that was not asked."""
    modules: tuple[CheckedModule, ...] = ()
    """The checked modules, each with its audience."""
    imports: tuple[Import, ...] = ()
    """The imports on the ways from checked modules to the lines that wake a device."""
    unset: tuple[tuple[str, str], ...] = ()
    """Packages, each with an environment variable without which some of its imports were skipped."""
    unfinished: tuple[Unfinished, ...] = ()
    leading: tuple[str, ...] = ()
    """The checked modules whose import can lead to that of a package which was asked about."""
    unfollowed: int = 0
    """How many lines of the checked code call something unknown while it is imported."""
    unparsed: int = 0
    """How many checked files have functions that nothing calls and that were not read yet."""
    left_out: tuple[LeftOut, ...] = ()
    """Files and folders under the paths that were skipped."""
    further: tuple[str, ...] = ()
    """Further profiles that were asked about."""
    entries: tuple[str, ...] = ()
    """The modules whose import was asked about; none where each module is asked about by itself."""

    @property
    def profiles(self) -> tuple[str, ...]:
        """Return the profiles of all machines that were checked for."""
        return self.profile, *self.further


class Origin(StrEnum):
    """The way in which an environment was found."""

    NAMED = "named"
    """By `--python` or `--site-packages`."""
    ACTIVE = "active"
    """It is the one that is active in the shell."""
    NEIGHBOUR = "neighbour"
    """It is `.venv` in the current folder."""
    OWN = "own"
    """It is the one that coldfork itself runs in."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The amount of code that an answer covers and omits, without which a clean answer proves nothing."""

    modules: int = 0
    """Checked modules that were followed."""
    read: int = 0
    """All modules that were followed, including those of dependencies."""
    entries: tuple[str, ...] = ()
    """The modules whose import was asked about; empty where every module is one."""
    unfollowed: int = 0
    """How many lines of the checked code call something unknown while it is imported."""
    unparsed: int = 0
    """How many checked files have functions that nothing calls and that were not read yet."""
    left_out: tuple[LeftOut, ...] = ()
    """Files and folders under the paths that were skipped."""
    not_asked: tuple[str, ...] = ()
    """Profiles for which the same code was not checked."""


@dataclass(frozen=True, slots=True)
class EnvironmentRead:
    """The environment of one check, and the packages and variables that were missing there."""

    folder: str | None
    """Its site-packages, relative to the user's folder; None when there is none."""
    origin: Origin
    read: bool
    """False for coldfork's own, where it does not hold what the checked code imports."""
    absent: tuple[str, ...] = ()
    """Packages that the checked code always imports, and that were not found; most imported first."""
    unset: tuple[tuple[str, str], ...] = ()
    """Packages, each with an environment variable that must be set before it imports more than was read."""


@dataclass(frozen=True, slots=True)
class ChangeScope:
    """The scope of `--changed-since`, which omits findings of modules that no change can affect."""

    since: str
    """The revision as it was named."""
    files: tuple[str, ...]
    """The changed Python files, relative to the user's folder; new and removed ones too."""
    paths: frozenset[str] | None
    """The modules that a change can affect, by their paths in reports; None when that is all of them."""
    modules: int
    """How many modules are checked."""
    left_out: int = 0
    """Findings of modules that no change can affect."""
    everything: str = ""
    """A change that concerns every module: a configuration or a baseline; empty when there is none."""

    @property
    def affected(self) -> int:
        """Return how many of the checked modules a change can affect."""
        return self.modules if self.paths is None else len(self.paths)


@dataclass(frozen=True, slots=True)
class Belief:
    """An expression, and its value as the analysis assumed it."""

    text: str
    value: str


@dataclass(frozen=True, slots=True)
class Touch:
    """A device that a statement touches, according to the analysis."""

    effect: str
    accelerator: str
    symbol: str
    """The call at the end of the way."""
    certain: bool
    condition: str | None


@dataclass(frozen=True, slots=True)
class Imported:
    """A module that a statement imports, according to the analysis."""

    module: str
    found: bool
    """Whether its source was available to be followed."""
    condition: str | None


@dataclass(frozen=True, slots=True)
class Visit:
    """One way in which the analysis reached a statement."""

    importing: str
    """The module whose import was followed."""
    function: str
    """The statement's surroundings: a function, a class, or the module itself."""
    condition: str | None
    """The condition on which it runs; None where it always does."""
    presumed: tuple[str, ...]
    nominal: bool
    """False off the path that is taken on the assumed machine."""
    looked_up: bool
    """True where it was not run, because it only binds a name that was looked up."""
    beliefs: tuple[Belief, ...]
    touches: tuple[Touch, ...]
    imports: tuple[Imported, ...]
    ended: str
    """How following it ended, in words; empty where it went on after it."""
    times: int = 1
    """How often the same was seen."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that the analysis found out about one line."""

    path: str
    """The file, as it was named."""
    asked: int
    """The line that was asked about."""
    line: int
    """The reported line: that of the enclosing statement that was reached, or 0 where none was."""
    text: str
    """That line as in the file."""
    visits: tuple[Visit, ...]
    modules: int
    """How many modules were followed."""
    within: str = ""
    """The function around the line."""
    unfinished: tuple[str, ...] = ()
    """Where following the modules of the visits ended too soon, in words."""


T = TypeVar("T")

_ROOT = f"{__name__.partition('.')[0]}."
_MOST = 200

FAILED = "coldfork itself failed on it: "
"""The beginning of the reason for not reading a file, where it is coldfork's fault."""


def describe(problem: Exception) -> str:
    """Return a description of an error and its place in coldfork, for a bug report."""
    said = f"{type(problem).__name__}: {problem}".partition("\n")[0].removesuffix(": ")
    place = _place(problem.__traceback__)
    return f"{said[:_MOST]} ({place})" if place else said[:_MOST]


class Faults:
    """A collector of the gaps in an answer that coldfork's own faults cause."""

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
        """Return the result of some work; if coldfork fails, note the fault and return `otherwise`.

        Without a module, it concerns the check as a whole.
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
        """Note an error as a fault of coldfork."""
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
