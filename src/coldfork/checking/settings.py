"""All settings with name, type and default; flags, variables and configuration keys are made from them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from coldfork.model.terms.grades import Audience, Verdict
from coldfork.model.terms.machines import PROFILES
from coldfork.report.formats import FORMATS
from coldfork.rules.registry import NAMES, unknown

#: With this value, `--fail-on` also fails for code that the analysis could not follow.
UNKNOWN = "unknown"


class Kind(Enum):
    """The type of a setting's value, named as in error messages and in the reference."""

    TEXT = "a string"
    TEXTS = "a list of strings"
    FLAG = "true or false"
    NUMBER = "a whole number"


class Setting(NamedTuple):
    """One setting: `fail-on`, for example, is `--fail-on`, `COLDFORK_FAIL_ON`, and a key of
    `[tool.coldfork]`.
    """

    name: str
    kind: Kind
    help: str
    default: object = None
    metavar: str = ""
    choices: tuple[str, ...] = ()
    alias: str = ""
    is_path: bool = False
    """Whether the value is a path; in the configuration it is relative to the file's folder."""
    output_only: bool = False
    """Whether it affects only how findings are printed, and not which there are; `baseline` ignores it."""
    refuse: Callable[[str], str | None] | None = None
    """Returns the reason why a value is not acceptable; None if it is."""
    variable_name: str = ""
    """The name of the environment variable, if the usual name is taken."""
    word: str = ""
    """A value that may follow = on the command line only, for a flag that can request more than usual."""

    @property
    def flag(self) -> str:
        """The command-line option, such as `--fail-on`."""
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable, such as `COLDFORK_FAIL_ON`."""
        return self.variable_name or f"COLDFORK_{self.parameter.upper()}"

    @property
    def parameter(self) -> str:
        """The name as a Python parameter, such as `fail_on`."""
        return self.name.replace("-", "_")


def refuse_rule(name: str) -> str | None:
    """Return why the text is not the name of a rule; None if it is."""
    return None if name in NAMES else unknown((name,))


def target_version(text: str) -> tuple[int, int] | None:
    """Return a version such as `3.13` as numbers; None if it is not a version of Python 3."""
    major, _, minor = text.partition(".")
    return (3, int(minor)) if major == "3" and minor.isascii() and minor.isdigit() else None


def refuse_version(text: str) -> str | None:
    """Return why coldfork cannot analyse for this version; None if it can."""
    return None if target_version(text) else f"{text!r} is not a version of Python 3; write 3.13, for example"


def refuse_audience(name: str) -> str | None:
    """Return why the text is not an audience; None if it is one."""
    names = [audience.value for audience in Audience]
    return None if name in names else f"there is no audience {name!r}; choose from {', '.join(names)}"


def refuse_negative(text: str) -> str | None:
    """Return why the text is not a number of processes; None if it is one."""
    return "the number of processes cannot be negative" if text.startswith("-") else None


def refuse_negative_limit(text: str) -> str | None:
    """Return why the text is not a number of causes; None if it is one."""
    return "the number of causes cannot be negative" if text.startswith("-") else None


def refuse_device(text: str) -> str | None:
    """Return why the text is not a virtual device; None if it is one."""
    from coldfork.virtual.errors import UnknownDeviceError
    from coldfork.virtual.profiles import parse

    try:
        parse(text)
    except UnknownDeviceError as error:
        return str(error)
    return None


def refuse_no_time(text: str) -> str | None:
    """Return why the text is not a time limit; None if it is one."""
    return None if text.isdigit() and int(text) > 0 else "an import needs at least a second"


def refuse_command(text: str) -> str | None:
    """Return why the text is not a command; None if it is one."""
    import shlex

    try:
        words = shlex.split(text)
    except ValueError as error:
        return f"{text!r} cannot be split into words: {str(error).lower()}"
    return None if words else "a command needs at least one word"


SETTINGS = (
    Setting(
        "profile",
        Kind.TEXT,
        "The machine to assume when conditions are evaluated. By default one with an NVIDIA GPU, and "
        "with JAX on it where the code uses JAX: cuda, and jax-gpu.",
        choices=tuple(PROFILES),
        alias="assume",
    ),
    Setting(
        "entry",
        Kind.TEXTS,
        "Report only what importing this module runs; repeatable. By default every module is an entry.",
        (),
        metavar="MODULE",
    ),
    Setting(
        "python",
        Kind.TEXT,
        "Read the dependencies' sources from this interpreter's environment. Only --confirm runs it.",
        metavar="PATH",
        is_path=True,
        # COLDFORK_PYTHON picks the interpreter that `./dev` runs coldfork with.
        variable_name="COLDFORK_TARGET_PYTHON",
    ),
    Setting(
        "site-packages",
        Kind.TEXTS,
        "Read the dependencies' sources from this folder; repeatable.",
        (),
        metavar="DIR",
        is_path=True,
    ),
    Setting(
        "package-base",
        Kind.TEXT,
        "The folder that holds the top-level packages; give it if the wrong one is chosen.",
        metavar="DIR",
        is_path=True,
    ),
    Setting(
        "target-version",
        Kind.TEXT,
        "The Python that will import the code.",
        "3.13",
        metavar="3.x",
        refuse=refuse_version,
    ),
    Setting(
        "rules",
        Kind.TEXTS,
        "Run only these rules; repeatable, or separated by commas.",
        (),
        metavar="NAME",
        alias="select",
        refuse=refuse_rule,
    ),
    Setting(
        "ignore",
        Kind.TEXTS,
        "Leave these rules out; repeatable, or separated by commas.",
        (),
        metavar="NAME",
        refuse=refuse_rule,
    ),
    Setting(
        "jobs",
        Kind.NUMBER,
        "How many processes to use; 0 means as many as are worthwhile.",
        0,
        metavar="N",
        refuse=refuse_negative,
    ),
    Setting("no-cache", Kind.FLAG, "Neither read nor write the analysis cache.", False),
    Setting(
        "baseline",
        Kind.TEXT,
        "Leave out the findings that this file accepts; `coldfork baseline write` makes it.",
        metavar="FILE",
        is_path=True,
        output_only=True,
    ),
    Setting(
        "changed-since",
        Kind.TEXT,
        "Leave out findings in modules that no change since this git commit can affect.",
        metavar="REV",
        output_only=True,
    ),
    Setting(
        "fail-on",
        Kind.TEXT,
        "The least certain verdict that makes the exit status 1; with unknown, code that was not "
        "followed does so, too.",
        Verdict.CONDITIONAL.value,
        choices=(*(verdict.value for verdict in Verdict), UNKNOWN),
        output_only=True,
    ),
    Setting(
        "fail-for",
        Kind.TEXTS,
        "The audiences whose causes make the exit status 1: library, script, build, example, test; "
        "repeatable, or separated by commas. By default library and script.",
        (Audience.LIBRARY.value, Audience.SCRIPT.value),
        metavar="AUDIENCE",
        output_only=True,
        refuse=refuse_audience,
    ),
    Setting("exit-zero", Kind.FLAG, "Exit with 0 even if there are findings.", False, output_only=True),
    Setting(
        "tests",
        Kind.FLAG,
        "Also list the causes in tests, examples, benchmarks and builds; by default they are only counted.",
        False,
        output_only=True,
    ),
    Setting(
        "all-ways",
        Kind.FLAG,
        "List every module that a cause wakes and how imports get there, and every line that leads "
        "to the cause.",
        False,
        output_only=True,
    ),
    Setting(
        "limit",
        Kind.NUMBER,
        "List at most this many causes in the formats for people and agents, and count the rest; 0 lists "
        "all. By default all are listed, and 20 with --format agent.",
        metavar="N",
        output_only=True,
        refuse=refuse_negative_limit,
    ),
    Setting("statistics", Kind.FLAG, "Print counts of causes and files as well.", False, output_only=True),
    Setting(
        "confirm",
        Kind.FLAG,
        "Import the modules of the findings in fresh interpreters, and report the outcome for each "
        "finding. --confirm=run, on the command line only, also runs the programs that findings are "
        "about, for real: they write their files and send their messages.",
        False,
        output_only=True,
        word="run",
    ),
    Setting(
        "virtual",
        Kind.TEXT,
        "Give the imports this many virtual devices, for example h100:2, instead of the machine's own.",
        metavar="NAME[:N]",
        output_only=True,
        refuse=refuse_device,
    ),
    Setting(
        "timeout",
        Kind.NUMBER,
        "How many seconds an import may take; after that it is ended, with everything it started.",
        120,
        metavar="SECONDS",
        output_only=True,
        refuse=refuse_no_time,
    ),
    Setting(
        "test-command",
        Kind.TEXT,
        "With --prove: the command that runs the project's tests, without a shell, in the folder of "
        "its pyproject.toml.",
        metavar="COMMAND",
        output_only=True,
        refuse=refuse_command,
    ),
    Setting(
        "format",
        Kind.TEXT,
        "The output format.",
        "text",
        choices=tuple(FORMATS["finding"]),
        alias="output-format",
        output_only=True,
    ),
    Setting(
        "output",
        Kind.TEXT,
        "Write the result to this file instead of standard output.",
        metavar="FILE",
        is_path=True,
        output_only=True,
    ),
    Setting(
        "color",
        Kind.TEXT,
        "Whether to colour text; `auto` colours terminals unless NO_COLOR is set.",
        "auto",
        choices=("auto", "always", "never"),
        output_only=True,
    ),
)
