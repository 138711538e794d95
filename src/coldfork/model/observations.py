"""All that the static observer saw in one analysis: what rules get to judge."""

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
"""Is told how far long work is: the stage, how much of it is done, of how much, and what is at hand."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be analysed, and why."""

    path: str
    line: int
    column: int
    reason: str
    own: bool = True
    too_large: bool = False
    """True for a file that was left alone for its size."""
    invalid: bool = False
    """True for a file that Python could not import either."""
    text: str = ""
    """The line at which reading ended, as it is written."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A module that was not followed to its end: what it does beyond that is not known."""

    module: str
    function: str
    """Where following ended."""
    path: str
    line: int
    what: str = "budget"
    """`budget` where that came to its end, `fault` where coldfork itself failed."""
    own: bool = True
    """False for a module of a dependency."""
    fault: str = ""
    """Which error of coldfork's own it was, and where."""


@dataclass(frozen=True, slots=True)
class IgnoreComment:
    """A `# coldfork: ignore[rule] reason` comment."""

    path: str
    line: int
    column: int
    rules: tuple[str, ...]
    reason: str
    covers: tuple[int, int]
    """First and last line of the statement the comment stands on."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of one analysis."""

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
    """A folder or a file that was passed over, and how many Python files that leaves out."""

    path: str
    files: int
    reason: str = ""
    """Why, where its name does not say it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything the static observer saw: what rules get to judge."""

    profile: str
    effects: tuple[Effect, ...]
    unreadable: tuple[Unreadable, ...]
    ignores: tuple[IgnoreComment, ...]
    statistics: Statistics
    absent: tuple[str, ...] = ()
    """Packages that the checked code imports, come what may, and that were not found beside it."""
    affected: tuple[str, ...] | None = None
    """The paths of the checked modules that what changed can affect; None when nobody asked."""
    modules: tuple[CheckedModule, ...] = ()
    """The checked modules, and whom each of them concerns."""
    imports: tuple[Import, ...] = ()
    """The imports on the ways from checked modules to the lines that wake a device."""
    unset: tuple[tuple[str, str], ...] = ()
    """Packages, and environment variables without which some of what they import was left alone."""
    unfinished: tuple[Unfinished, ...] = ()
    leading: tuple[str, ...] = ()
    """The checked modules whose import can lead to that of a package which was asked about."""
    unfollowed: int = 0
    """How many lines of the checked code call something unknown while it is imported."""
    unparsed: int = 0
    """How many checked files have functions that nothing calls and that were not read yet."""
    left_out: tuple[LeftOut, ...] = ()
    """Files and folders under the paths that were passed over."""
    further: tuple[str, ...] = ()
    """The profiles that were asked about besides."""
    entries: tuple[str, ...] = ()
    """The modules whose import was asked about; none where each module is asked about by itself."""

    @property
    def profiles(self) -> tuple[str, ...]:
        """All profiles that were asked about."""
        return self.profile, *self.further


class Origin(StrEnum):
    """How an environment was found."""

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
    """How much an answer rests on, and leaves open: without that, a clean one could not be believed."""

    modules: int = 0
    """Checked modules that were looked at."""
    read: int = 0
    """All modules that were looked at, those of dependencies among them."""
    entries: tuple[str, ...] = ()
    """The modules whose import was asked about; empty where every module is one."""
    unfollowed: int = 0
    """How many lines of the checked code call something unknown while it is imported."""
    unparsed: int = 0
    """How many checked files have functions that nothing calls and that were not read yet."""
    left_out: tuple[LeftOut, ...] = ()
    """Files and folders under the paths that were passed over."""
    not_asked: tuple[str, ...] = ()
    """Profiles under which the same code was not looked at."""


@dataclass(frozen=True, slots=True)
class EnvironmentRead:
    """The environment of one check, and what was looked for there in vain."""

    folder: str | None
    """Its site-packages, as seen from where the user stands; None when there is none."""
    origin: Origin
    read: bool
    """False for coldfork's own, where it does not hold what the checked code imports."""
    absent: tuple[str, ...] = ()
    """Packages that the checked code imports, come what may, and that were not found; most imported first."""
    unset: tuple[tuple[str, str], ...] = ()
    """Packages, and environment variables that have to be set before they import more than was read."""


@dataclass(frozen=True, slots=True)
class ChangeScope:
    """What `--changed-since` came to: the findings of modules that no change can affect are left out."""

    since: str
    """The revision as it was named."""
    files: tuple[str, ...]
    """The changed Python files, as seen from where the user stands; new and removed ones too."""
    paths: frozenset[str] | None
    """The modules that a change can affect, by their paths in reports; None when that is all of them."""
    modules: int
    """How many modules are checked."""
    left_out: int = 0
    """Findings of modules that no change can affect."""
    everything: str = ""
    """What changed that concerns every module: a configuration or a baseline; empty when nothing did."""

    @property
    def affected(self) -> int:
        """How many of the checked modules a change can affect."""
        return self.modules if self.paths is None else len(self.paths)


@dataclass(frozen=True, slots=True)
class Belief:
    """An expression, and what it was taken for."""

    text: str
    value: str


@dataclass(frozen=True, slots=True)
class Touch:
    """A device that a statement was found to touch."""

    effect: str
    accelerator: str
    symbol: str
    """The call at the end of the way."""
    certain: bool
    condition: str | None


@dataclass(frozen=True, slots=True)
class Imported:
    """A module that a statement was found to import."""

    module: str
    found: bool
    """Whether its source was there to be followed."""
    condition: str | None


@dataclass(frozen=True, slots=True)
class Visit:
    """One way in which a statement was come to."""

    importing: str
    """The module whose import was followed."""
    function: str
    """Where the statement stands: a function, a class, or the module itself."""
    condition: str | None
    """The condition on which it runs; None where it always does."""
    presumed: tuple[str, ...]
    nominal: bool
    """False off the path that is taken on the assumed machine."""
    looked_up: bool
    """True where it was not run, because it only binds a name that somebody asked for."""
    beliefs: tuple[Belief, ...]
    touches: tuple[Touch, ...]
    imports: tuple[Imported, ...]
    ended: str
    """How following it ended, in words; empty where it went on behind it."""
    times: int = 1
    """How often the same was seen."""


@dataclass(frozen=True, slots=True)
class Trace:
    """All that was seen at a line."""

    path: str
    """The file, as it was named."""
    asked: int
    """The line that was asked about."""
    line: int
    """The line that is told of: that of the statement around it which was come to, or 0 where none was."""
    text: str
    """That line as it is written."""
    visits: tuple[Visit, ...]
    modules: int
    """How many modules were followed."""
    within: str = ""
    """The function that the line stands in."""
    unfinished: tuple[str, ...] = ()
    """Where following the modules of the visits ended too soon, in words."""


T = TypeVar("T")

_ROOT = f"{__name__.partition('.')[0]}."
_MOST = 200

FAILED = "coldfork itself failed on it: "
"""How the reason begins for which a file was not read, where it is a fault."""


def describe(problem: Exception) -> str:
    """Which error it was, and where in coldfork: what there is to report."""
    said = f"{type(problem).__name__}: {problem}".partition("\n")[0].removesuffix(": ")
    place = _place(problem.__traceback__)
    return f"{said[:_MOST]} ({place})" if place else said[:_MOST]


class Faults:
    """Notes what is missing from an answer for a fault."""

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
        """The result of some work; where coldfork fails at it, that is noted, and the other one serves.

        Without a module, it is about the check as a whole.
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
        """Take an error for a fault of coldfork's own."""
        said = describe(problem)
        self.noted[Unfinished(module, function or module, path, line, "fault", True, said)] = None


def _place(at: TracebackType | None) -> str:
    """The innermost line of coldfork's own on the way to an error."""
    place = ""
    while at is not None:
        name = at.tb_frame.f_globals.get("__name__", "")
        if name.startswith(_ROOT) and name != __name__:
            place = f"{name.removeprefix(_ROOT)}:{at.tb_lineno}"
        at = at.tb_next
    return place
