"""Effects: facts that observers see, with place and machine; rules decide which of them are faults."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Position(StrEnum):
    """The syntactic place of code that an import executes."""

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
    """How a step was entered; the first step's kind is its code's position, the last step is the sink."""

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
    """One frame of a chain: `symbol` takes the next step at `line` of `path`, whose source is `text`."""

    kind: StepKind
    symbol: str
    path: str | None = None
    line: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps from an import-time site to a sink; the last step is the sink."""

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


#: Effects after which a forked child of this process is poisoned.
WAKING = frozenset({EffectKind.INITIALISES_DRIVER, EffectKind.CREATES_CONTEXT})


class Verdict(StrEnum):
    """How certain it is that an effect happens on import."""

    CERTAIN = "certain"
    CONDITIONAL = "conditional"
    POSSIBLE = "possible"

    @property
    def rank(self) -> int:
        """The place in the order; a larger rank is more certain."""
        return {"possible": 0, "conditional": 1, "certain": 2}[self.value]


@dataclass(frozen=True, slots=True)
class ImportOf:
    """The import statement that causes an effect, if an import does."""

    module: str
    """The module imported, as an absolute dotted name."""
    own: bool
    """True when the module belongs to the checked code, False for a dependency."""
    statement_in_init: bool
    """True when the import is in a package's `__init__`."""
    importers: int
    """How many checked modules import the package whose `__init__` this is, directly or not."""
    gated: bool
    """True when the author put an `if` around the statement."""
    woken_elsewhere: bool
    """True when the waking site inside the imported module is reported on its own line too."""
    may_be_lazy: bool = False
    """True for a statement that the target version would allow as a `lazy import`."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """A line that always wakes the device before an effect happens."""

    kind: EffectKind
    chain: Chain
    """From the effect's own line to the sink."""


class Obstacle(StrEnum):
    """A reason why a process cannot start as intended."""

    UNPICKLABLE = "unpicklable"
    """Something that is sent to it cannot be pickled."""
    OTHER_CONTEXT = "other-context"
    """It is handed a lock or a queue that was made for another start method."""
    DAEMONIC = "daemonic"
    """It is a daemon, and starts processes itself."""
    METHOD_IN_USE = "method-in-use"
    """The start method is to be set, but one is in use already."""


@dataclass(frozen=True, slots=True)
class Hindrance:
    """An obstacle for a line that starts a process."""

    obstacle: Obstacle
    words: str
    """The obstacle in words."""
    chain: Chain
    """The line that makes it one; empty where that is the same."""


class Arrival(StrEnum):
    """The way in which code comes to run."""

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
    """The function of it that a command calls; empty where the file itself is run."""


@dataclass(frozen=True, slots=True)
class ProcessStart:
    """A line's way to start processes, or its choice of a start method, and the circumstances."""

    method: str
    """`fork`, `spawn` or `forkserver`; empty where it is not known."""
    chosen: str
    """The choice of the method in words."""
    target: str
    """The new process's target, or the variable or flag that decides; empty where it is not known."""
    arrival: Arrival
    origin: StartedProgram
    """The module that is started or imported and reaches this line, or whose function is called."""
    way: Chain
    """From the program's own line to this one; empty where that is the same."""
    before: Ahead | None
    """The surest wake before it in the same process."""
    child: Ahead | None
    """The surest way in which the new process uses a device."""
    sure: bool = False
    """True where every run reaches this line."""
    hindrance: Hindrance | None = None
    tasks: bool = False
    """True where the processes run already, and are given something to do."""
    handled: bool = False
    """True inside a `try` that may handle an error of this line."""
    differs: bool = False
    """True where no method is stated, and the Pythons that the project supports have different ones."""
    unguarded: str = ""
    """A module of which every import reaches this line; empty where there is none."""

    @property
    def program(self) -> str:
        """Return the module that is started as a program and reaches this line; empty if there is none."""
        return self.origin.module if self.arrival is Arrival.PROGRAM else ""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect on an accelerator of importing `module`, with the whole chain that leads to it."""

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
    """The id of a remedy in the knowledge base, where the library's entry names a better way."""
    turn: int = 0
    """When it happens: counted along the import of the entries, or of its module where none was named."""
    ahead: Ahead | None = None
    """The wake that always comes before it in the function in which it happens."""
    start: ProcessStart | None = None
    """How processes are started, where the effect is that."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The assumed machine: which accelerators it has, and whether NVML answers for CUDA."""

    name: str
    accelerators: frozenset[str]
    nvml: bool
    summary: str


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("cuda", frozenset({"cuda"}), True, "an NVIDIA GPU, its driver, and working NVML"),
        Profile("cuda-without-nvml", frozenset({"cuda"}), False, "an NVIDIA GPU and its driver, but no NVML"),
        Profile("rocm", frozenset({"rocm"}), False, "an AMD GPU with ROCm"),
        Profile("xpu", frozenset({"xpu"}), False, "an Intel GPU"),
        Profile("jax-gpu", frozenset({"cuda", "jax"}), True, "JAX with its CUDA plugin on an NVIDIA GPU"),
        Profile("cpu", frozenset(), False, "no accelerator at all"),
    )
}
DEFAULT_PROFILE = "cuda"
