"""Effects: facts that observers see, each with a place and a machine; rules decide which are faults."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from coldfork.model.terms.grades import Verdict
from coldfork.model.terms.machines import DEFAULT_PROFILE, PROFILES, Profile


class Position(StrEnum):
    """The syntactic position of code that an import executes."""

    MODULE = "module"
    CLASS_BODY = "class-body"
    DECORATOR = "decorator"
    DEFAULT_ARGUMENT = "default-argument"
    ANNOTATION = "annotation"
    COMPREHENSION = "comprehension"
    METACLASS = "metaclass"
    BASE_CLASS = "base-class"
    IMPORT = "import"


class StepKind(StrEnum):
    """How a step was entered; the first step's kind is the position of its code, the last step is
    the sink.
    """

    MODULE = "module"
    CLASS_BODY = "class-body"
    DECORATOR = "decorator"
    DEFAULT_ARGUMENT = "default-argument"
    ANNOTATION = "annotation"
    COMPREHENSION = "comprehension"
    IMPORT = "import"
    CALL = "call"
    CONSTRUCT = "construct"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Step:
    """One frame of a chain: at `line` of `path`, whose source is `text`, `symbol` takes the next step."""

    kind: StepKind
    symbol: str
    path: str | None = None
    line: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps from an import-time site to a sink, which is the last step."""

    steps: tuple[Step, ...]

    @property
    def sink(self) -> Step:
        """The call, attribute or import that touches the accelerator."""
        return self.steps[-1]

    @property
    def by_import(self) -> bool:
        """True if the first step is an import, so that another module wakes the device."""
        return bool(self.steps) and self.steps[0].kind is StepKind.IMPORT

    @property
    def symbols(self) -> tuple[str, ...]:
        """Return the names along the chain, which stay the same when lines move."""
        return tuple(step.symbol for step in self.steps)


class EffectKind(StrEnum):
    """The kinds of facts that are seen in the source or at run time."""

    LOADS_DRIVER = "loads-driver"
    INITIALISES_DRIVER = "initialises-driver"
    CREATES_CONTEXT = "creates-context"
    QUERIES_DEVICE = "queries-device"
    FORKS = "forks"
    SPAWNS = "spawns"
    EXECS = "execs"
    STARTS_THREADS = "starts-threads"
    SETS_VISIBILITY = "sets-visibility"
    SETS_START_METHOD = "sets-start-method"
    CHOOSES_START_METHOD = "chooses-start-method"


#: Effects that poison later forked children of this process.
WAKING = frozenset({EffectKind.INITIALISES_DRIVER, EffectKind.CREATES_CONTEXT})


@dataclass(frozen=True, slots=True)
class ImportOf:
    """The import statement that causes an effect, if one does."""

    module: str
    """The imported module, as an absolute dotted name."""
    own: bool
    """True if the module belongs to the checked code; False for a dependency."""
    statement_in_init: bool
    """True if the import is in a package's `__init__`."""
    importers: int
    """The number of checked modules that import, directly or not, the package with this `__init__`."""
    gated: bool
    """True if the author has put an `if` around the statement."""
    woken_elsewhere: bool
    """True if the waking site in the imported module is also reported at its own line."""
    may_be_lazy: bool = False
    """True if the target version would allow the statement as a `lazy import`."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """A line that always wakes the device before an effect happens."""

    kind: EffectKind
    chain: Chain
    """From the effect's own line to the sink."""


class Obstacle(StrEnum):
    """A reason why a process cannot start as intended."""

    UNPICKLABLE = "unpicklable"
    """A value that has to be sent to the process cannot be pickled."""
    OTHER_CONTEXT = "other-context"
    """The process gets a lock or queue that was made for another start method."""
    DAEMONIC = "daemonic"
    """The process is a daemon, but starts processes itself."""
    METHOD_IN_USE = "method-in-use"
    """The start method cannot be set, because one is already in use."""


@dataclass(frozen=True, slots=True)
class Hindrance:
    """An obstacle for a line that starts a process."""

    obstacle: Obstacle
    words: str
    """The obstacle in words."""
    chain: Chain
    """The line that makes it an obstacle; empty if that is the same line."""


class Arrival(StrEnum):
    """How the code came to run."""

    IMPORT = "import"
    PROGRAM = "program"
    CALL = "call"
    """Other code calls the function, with unknown arguments."""


@dataclass(frozen=True, slots=True)
class StartedProgram:
    """The program that a user would run to see an effect."""

    module: str
    """The module that is started, or whose import reaches the effect."""
    path: str
    """Its file."""
    function: str = ""
    """The function in it that a command calls; empty if the file itself is run."""


@dataclass(frozen=True, slots=True)
class ProcessStart:
    """How a line starts processes or chooses the start method, and the circumstances."""

    method: str
    """`fork`, `spawn` or `forkserver`; empty if it is unknown."""
    chosen: str
    """How the method was chosen, in words."""
    target: str
    """The target of the new process, or the variable or flag that decides; empty if it is unknown."""
    arrival: Arrival
    origin: StartedProgram
    """The module that is started or imported and so reaches this line, or whose function is called."""
    way: Chain
    """The chain from the program's own line to this one; empty if they are the same."""
    before: Ahead | None
    """The surest wake before it in the same process."""
    child: Ahead | None
    """The surest way in which the new process uses a device."""
    sure: bool = False
    """True if every run reaches this line."""
    hindrance: Hindrance | None = None
    tasks: bool = False
    """True if the processes already run, and are given work."""
    handled: bool = False
    """True inside a `try` that may handle an error of this line."""
    differs: bool = False
    """True if no method is named, and the supported Python versions have different defaults."""
    unguarded: str = ""
    """A module whose every import reaches this line; empty if there is none."""

    @property
    def program(self) -> str:
        """Return the module that is started as a program and reaches this line; empty if there is none."""
        return self.origin.module if self.arrival is Arrival.PROGRAM else ""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect that importing `module` has on an accelerator, with the whole chain that leads to it."""

    kind: EffectKind
    accelerator: str
    verdict: Verdict
    module: str
    path: str
    line: int
    end_line: int
    column: int
    text: str
    position: Position
    chain: Chain
    condition: str | None = None
    presumed: tuple[str, ...] = ()
    imported: ImportOf | None = None
    test: bool = False
    remedy: str | None = None
    """The id of a remedy in the catalogue, if the library's entry names a better way."""
    turn: int = 0
    """When it happens, as a position in the import of the entries or, without entries, of its module."""
    ahead: Ahead | None = None
    """The wake that always comes before it, in the same function."""
    start: ProcessStart | None = None
    """How processes are started, if that is the effect."""


__all__ = [
    "DEFAULT_PROFILE",
    "PROFILES",
    "WAKING",
    "Ahead",
    "Arrival",
    "Chain",
    "Effect",
    "EffectKind",
    "Hindrance",
    "ImportOf",
    "Obstacle",
    "Position",
    "ProcessStart",
    "Profile",
    "StartedProgram",
    "Step",
    "StepKind",
    "Verdict",
]
