"""Settings as options of a command, and their values when flags, environment and file have spoken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from coldfork.checking.configuration import Configuration
from coldfork.checking.settings import SETTINGS, Kind, Setting, refuse_rule
from coldfork.cli.worded_flags import WordedFlag
from coldfork.model.errors import UsageError
from coldfork.rules.registry import NAMES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Who speaks before the configuration file does.
_SPOKEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def options(settings: Iterable[Setting] = SETTINGS) -> Callable[[_Function], _Function]:
    """Give a command an option for each of these settings."""

    def decorate(function: _Function) -> _Function:
        for setting in reversed(tuple(settings)):
            function = _option(setting)(function)
        return function

    return decorate


def resolve(context: click.Context, configuration: Configuration) -> dict[str, Any]:
    """Each setting's value by name: flag before environment variable before configuration before default."""
    return {setting.name: _resolved(setting, context, configuration.values) for setting in SETTINGS}


def _resolved(setting: Setting, context: click.Context, configured: Mapping[str, object]) -> Any:
    source = context.get_parameter_source(setting.parameter)
    if source not in _SPOKEN:
        return configured.get(setting.name, setting.default)
    value = context.params[setting.parameter]
    # Folders may hold commas; names may not, and people separate them so.
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
    """Give a command the files and folders to check."""
    return click.argument("paths", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path))(function)
