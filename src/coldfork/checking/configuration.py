"""`[tool.coldfork]`: finds the nearest configuration, reads it, and reports every invalid entry."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from coldfork.checking.settings import SETTINGS, Kind, Setting, refuse_rule
from coldfork.model.errors import ConfigurationError
from coldfork.rules.registry import near_match

if TYPE_CHECKING:
    from coldfork.checking.places import Locate
    from coldfork.model.findings import Finding

_TYPES: dict[Kind, type] = {Kind.TEXT: str, Kind.TEXTS: list, Kind.FLAG: bool, Kind.NUMBER: int}

FILE = "pyproject.toml"

#: Keys without a flag.
EXCLUDE = "exclude"
PER_FILE_IGNORES = "per-file-ignores"
KNOWLEDGE = "knowledge"
VLLM = "vllm"
"""The plugin for vLLM reads this key by itself, because it must not import this package."""

_Problems = Iterator[str]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings in a pyproject.toml; empty if there is none."""

    folder: Path
    """The folder to which the file's paths and globs are relative."""
    file: Path | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    """The values by the setting's name; lists have become tuples, and paths are joined to the folder."""
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    knowledge: Mapping[str, object] | None = None


def read(start: Path, over: Mapping[str, Any] = _NOTHING) -> Configuration:
    """Return the nearest configuration in `start` or above it, with an editor's settings in place of
    its own.
    """
    _refuse(over, "the settings of the editor:")
    beginning = start.absolute()
    for folder in (beginning, *beginning.parents):
        file = folder / FILE
        table = _table(file)
        if table is not None:
            _refuse(table, f"{file}: [tool.coldfork]")
            return _configuration(folder, file, {**table, **over})
    return _configuration(beginning if beginning.is_dir() else beginning.parent, None, over)


def _table(file: Path) -> dict[str, Any] | None:
    """Return the `[tool.coldfork]` table of a file; None if the file or the table is missing."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    return table_in(content, file)


def table_in(content: bytes, file: Path) -> dict[str, Any] | None:
    """Return `[tool.coldfork]` as it is in this content of a file; None if the content has no such table."""
    if b"coldfork" not in content:
        return None
    import tomllib

    try:
        tool = tomllib.loads(content.decode("utf-8-sig")).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file}: this is not TOML: {error}") from None
    table = tool.get("coldfork") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ConfigurationError(f"{file}: tool.coldfork has to be a table: [tool.coldfork]")
    return table


def _refuse(table: Mapping[str, Any], whose: str) -> None:
    problems = [problem for key, value in table.items() for problem in _problems(key, value)]
    if problems:
        raise ConfigurationError(f"{whose} {'; '.join(problems)}")


def _configuration(folder: Path, file: Path | None, table: Mapping[str, Any]) -> Configuration:
    return Configuration(
        folder,
        file,
        {
            setting.name: _value(setting, table[setting.name], folder)
            for setting in SETTINGS
            if setting.name in table
        },
        tuple(table.get(EXCLUDE, ())),
        tuple((glob, tuple(rules)) for glob, rules in table.get(PER_FILE_IGNORES, {}).items()),
        table.get(KNOWLEDGE),
    )


def _value(setting: Setting, value: object, folder: Path) -> object:
    if isinstance(value, list):
        return tuple(str(folder / item) if setting.is_path else item for item in value)
    return str(folder / value) if setting.is_path and isinstance(value, str) else value


def _problems(key: str, value: object) -> _Problems:
    """Yield a message for each problem with a key or its value."""
    special: dict[str, Callable[[object], _Problems]] = {
        EXCLUDE: _problems_of_exclude,
        PER_FILE_IGNORES: _problems_of_per_file_ignores,
        KNOWLEDGE: _problems_of_knowledge,
        VLLM: _problems_of_vllm,
    }
    if key in special:
        yield from special[key](value)
        return
    setting = next((setting for setting in SETTINGS if setting.name == key), None)
    if setting is None:
        match = near_match(key, (*(setting.name for setting in SETTINGS), *special))
        yield f"has no key {key!r}" + (f"; did you mean {match}?" if match else "")
        return
    if not _fits(setting.kind, value):
        yield f"{key}: expected {setting.kind.value}, got {_spelled(value)}"
        return
    for item in value if isinstance(value, list) else [value]:
        yield from _problems_of_item(setting, item)


def _problems_of_item(setting: Setting, item: object) -> _Problems:
    if setting.choices and item not in setting.choices:
        match = near_match(str(item), setting.choices)
        hint = f"; did you mean {match}?" if match else ""
        yield f"{setting.name}: {_spelled(item)} is not one of {', '.join(setting.choices)}{hint}"
    reason = setting.refuse(str(item)) if setting.refuse else None
    if reason:
        yield f"{setting.name}: {reason}"


def _problems_of_exclude(value: object) -> _Problems:
    if not _fits(Kind.TEXTS, value):
        yield f"{EXCLUDE}: expected a list of strings, got {_spelled(value)}"


def _problems_of_per_file_ignores(value: object) -> _Problems:
    if not isinstance(value, dict):
        yield f"{PER_FILE_IGNORES}: expected a table of globs and lists of rules, got {_spelled(value)}"
        return
    for glob, rules in value.items():
        if not _fits(Kind.TEXTS, rules):
            yield f"{PER_FILE_IGNORES}.{glob!r}: expected a list of rules, got {_spelled(rules)}"
            continue
        yield from (
            f"{PER_FILE_IGNORES}.{glob!r}: {reason}" for rule in rules if (reason := refuse_rule(rule))
        )


def _problems_of_knowledge(value: object) -> _Problems:
    if not isinstance(value, dict):
        yield f"{KNOWLEDGE}: expected a table, got {_spelled(value)}"


def _problems_of_vllm(value: object) -> _Problems:
    if not _fits(Kind.FLAG, value):
        yield f"{VLLM}: expected {Kind.FLAG.value}, got {_spelled(value)}"


def _fits(kind: Kind, value: object) -> bool:
    if kind is Kind.NUMBER and isinstance(value, bool):
        return False
    if not isinstance(value, _TYPES[kind]):
        return False
    return not isinstance(value, list) or all(isinstance(item, str) for item in value)


def _spelled(value: object) -> str:
    """Return a value roughly as TOML spells it, for an error message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_spelled, value))}]"
    return "a table" if isinstance(value, dict) else str(value)


Matches = Callable[[str], bool]


def matcher(globs: Iterable[str], configuration: Configuration) -> Matches:
    """Return a function that tests whether a file, relative to the current folder, matches one of these
    globs.
    """
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines(globs)
    folder = os.path.realpath(configuration.folder)

    @cache
    def matches(path: str) -> bool:
        inside = os.path.relpath(os.path.realpath(path), folder)
        return not inside.startswith(os.pardir) and spec.match_file(inside)

    return matches


class Selection:
    """The files and findings that a configuration excludes from a check."""

    def __init__(self, configuration: Configuration) -> None:
        self.is_excluded: Matches = (
            matcher(configuration.exclude, configuration) if configuration.exclude else lambda _: False
        )
        """Returns whether `exclude` excludes a file."""
        self._ignores = [
            (matcher([glob], configuration), rules) for glob, rules in configuration.per_file_ignores
        ]

    def select(self, findings: Iterable[Finding], locate: Locate) -> tuple[Finding, ...]:
        """Return the findings that neither `exclude` nor `per-file-ignores` drops."""
        return tuple(
            finding
            for finding in findings
            if not self.is_excluded(path := locate(finding.path))
            and not any(finding.rule in rules and matches(path) for matches, rules in self._ignores)
        )
