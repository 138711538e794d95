"""Settings as command-line options: flags with an optional word after =, and how values are resolved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from coldfork.checking.settings import SETTINGS, Kind, Setting, refuse_rule
from coldfork.model.errors import UsageError
from coldfork.report.formats import FORMATS
from coldfork.rules.registry import NAMES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from coldfork.checking.configuration import Configuration

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: The sources of values that take precedence over the configuration file.
_SPOKEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def options(settings: Iterable[Setting] = SETTINGS) -> Callable[[_Function], _Function]:
    """Return a decorator that gives a command an option for each of these settings."""

    def decorate(function: _Function) -> _Function:
        for setting in reversed(tuple(settings)):
            function = _option(setting)(function)
        return function

    return decorate


def resolve(context: click.Context, configuration: Configuration) -> dict[str, Any]:
    """Return the settings by name; each comes from its flag, variable, configuration or default."""
    return {setting.name: _resolved(setting, context, configuration.values) for setting in SETTINGS}


def _resolved(setting: Setting, context: click.Context, configured: Mapping[str, object]) -> Any:
    source = context.get_parameter_source(setting.parameter)
    if source not in _SPOKEN:
        return configured.get(setting.name, setting.default)
    value = context.params[setting.parameter]
    # Names may be separated by commas or blanks, but not folders, because their names may contain them.
    items = _split(value) if setting.kind is Kind.TEXTS and not setting.is_path else value
    for item in items if isinstance(items, tuple) else (items,):
        reason = setting.refuse(str(item)) if setting.refuse else None
        if reason:
            speaker = setting.variable if source is ParameterSource.ENVIRONMENT else setting.flag
            raise UsageError(f"{speaker}: {reason}")
    return items


def _split(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(item for value in values for item in value.replace(",", " ").split())


def _option(setting: Setting) -> Callable[[_Function], _Function]:
    details: dict[str, Any] = {"envvar": setting.variable, "help": _help(setting)}
    names = [setting.flag, *([f"--{setting.alias}"] if setting.alias else [])]
    if setting.kind is Kind.FLAG:
        opposite = (
            f"--{setting.name.removeprefix('no-')}"
            if setting.name.startswith("no-")
            else f"--no-{setting.name}"
        )
        if setting.word:
            details |= {"cls": WordedFlag, "word": setting.word}
        return click.option(f"{setting.flag}/{opposite}", setting.parameter, default=False, **details)
    details["multiple"] = setting.kind is Kind.TEXTS
    details["type"] = _type(setting)
    if setting.refuse is refuse_rule:
        details["shell_complete"] = _complete_rules
    if setting.metavar:
        details["metavar"] = setting.metavar
    return click.option(*names, setting.parameter, **details)


def _help(setting: Setting) -> str:
    if setting.kind is Kind.TEXT and setting.default:
        return f"{setting.help}  [default: {setting.default}]"
    return setting.help


def _type(setting: Setting) -> Any:
    if setting.choices:
        return click.Choice(setting.choices)
    if setting.kind is Kind.NUMBER:
        return int
    return click.Path() if setting.is_path else str


def _complete_rules(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in NAMES if name.startswith(incomplete)]


def paths_argument(function: _Function) -> _Function:
    """Add the argument for files and folders to check to a command."""
    return click.argument("paths", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path))(function)


class WordedFlag(click.Option):
    """A flag that may be followed by = and a word. Its value is true, false or the word."""

    def __init__(self, *arguments: Any, word: str, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.word = word

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the flag with its word, and its help text."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        names, text = record
        return names.replace(self.opts[0], f"{self.opts[0]}[={self.word}]", 1), text


class WordedCommand(click.Command):
    """A command that parses the words of its `WordedFlag`s."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let click parse the arguments without the flags' words, then restore the words."""
        flags = [option for option in self.params if isinstance(option, WordedFlag)]
        worded = [flag for flag in flags if _has_word(flag, args)]
        rest = super().parse_args(ctx, _bare(flags, args))
        for flag in worded:
            ctx.params[str(flag.name)] = flag.word
        return rest


def _has_word(flag: WordedFlag, args: Sequence[str]) -> bool:
    """Return whether the last occurrence of a flag in the arguments has a word after =."""
    names = (*flag.opts, *flag.secondary_opts)
    said = [arg for arg in _options(args) if arg.partition("=")[0] in names]
    return bool(said) and said[-1] in _with_word(flag)


def _bare(flags: Sequence[WordedFlag], args: list[str]) -> list[str]:
    """Return the arguments with the flags' words removed."""
    options = len(list(_options(args)))
    return [
        _without_word(flags, arg) if number < options else arg  # words after -- are not options
        for number, arg in enumerate(args)
    ]


def _without_word(flags: Sequence[WordedFlag], arg: str) -> str:
    name, equals, word = arg.partition("=")
    flag = next((flag for flag in flags if name in flag.opts), None)
    if not equals or flag is None:
        return arg
    if word != flag.word:
        raise UsageError(f"{name} takes only one value: {name}={flag.word}")
    return name


def _with_word(flag: WordedFlag) -> list[str]:
    return [f"{name}={flag.word}" for name in flag.opts]


def _options(args: Sequence[str]) -> Iterator[str]:
    for arg in args:
        if arg == "--":
            return
        yield arg


def typed(context: click.Context, but: Collection[str]) -> tuple[str, ...]:
    """Return the command line as the user typed it, without these options."""
    words = context.command_path.split()
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in but or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        values = value if isinstance(value, tuple) else (value,)
        if not isinstance(parameter, click.Option):
            words += map(str, values)
        elif parameter.is_flag:
            words.append(parameter.opts[0] if value else parameter.secondary_opts[0])
        else:
            words += [word for one in values for word in (parameter.opts[0], str(one))]
    return tuple(words)


_BY_NAME = {setting.name: setting for setting in SETTINGS}

PROBE_SETTINGS = (
    _BY_NAME["virtual"],
    _BY_NAME["python"]._replace(
        help="Import with this interpreter; by default the active virtual environment's, else coldfork's "
        "own.",
    ),
    _BY_NAME["timeout"],
    _BY_NAME["jobs"]._replace(
        help="How many modules to import at a time; 0 means as many as are worthwhile."
    ),
    _BY_NAME["format"]._replace(choices=tuple(FORMATS["probe"])),
    *(_BY_NAME[name] for name in ("output", "color")),
)
"""The settings of `probe`."""

PRELOAD_SETTINGS = (
    _BY_NAME["virtual"]._replace(
        help="Give the imports this many virtual devices, for example h100:2; by default the machine's "
        "own devices, or one h100 if it has none.",
    ),
    next(setting for setting in PROBE_SETTINGS if setting.name == "python"),
    _BY_NAME["timeout"]._replace(
        help="End an import after this many seconds in which no module finishes.",
    ),
    _BY_NAME["format"]._replace(choices=tuple(FORMATS["preload"])),
    _BY_NAME["color"],
)
"""The settings of `preload`, whose `--output` is for the list."""

_OF_CONFIRM = {
    "virtual": "With --confirm or --prove: give the imports and programs this many virtual devices, for "
    "example h100:2, instead of the machine's own; --prove gives them one h100 by default.",
    "timeout": "With --confirm or --prove: how many seconds an import or a program may take; after that it "
    "is ended, with everything it started.",
}

CHECK_SETTINGS = tuple(
    setting._replace(help=_OF_CONFIRM[setting.name]) if setting.name in _OF_CONFIRM else setting
    for setting in SETTINGS
)
"""The settings of `check`, which are all settings."""
