"""Flags that take a word behind = only: `--confirm=run` is one, `--confirm run` a flag and a path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from coldfork.model.errors import UsageError


class WordedFlag(click.Option):
    """A flag that may have a word behind =. Its value is true, false or the word."""

    def __init__(self, *arguments: Any, word: str, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.word = word

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The flag and its word, and the help."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        names, text = record
        return names.replace(self.opts[0], f"{self.opts[0]}[={self.word}]", 1), text


class WordedCommand(click.Command):
    """A command that lets its `WordedFlag`s have their words."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the line with the flags bare, as click knows them, then give back their words."""
        flags = [option for option in self.params if isinstance(option, WordedFlag)]
        worded = [flag for flag in flags if _has_word(flag, args)]
        rest = super().parse_args(ctx, _bare(flags, args))
        for flag in worded:
            ctx.params[str(flag.name)] = flag.word
        return rest


def _has_word(flag: WordedFlag, args: Sequence[str]) -> bool:
    """Whether the last mention of a flag on a line has its word."""
    names = (*flag.opts, *flag.secondary_opts)
    said = [arg for arg in _options(args) if arg.partition("=")[0] in names]
    return bool(said) and said[-1] in _with_word(flag)


def _bare(flags: Sequence[WordedFlag], args: list[str]) -> list[str]:
    """The line with each flag's word taken off."""
    options = len(list(_options(args)))
    return [
        _without_word(flags, arg) if number < options else arg  # what follows -- is no option
        for number, arg in enumerate(args)
    ]


def _without_word(flags: Sequence[WordedFlag], arg: str) -> str:
    name, equals, word = arg.partition("=")
    flag = next((flag for flag in flags if name in flag.opts), None)
    if not equals or flag is None:
        return arg
    if word != flag.word:
        raise UsageError(f"{name} takes no value but {flag.word}: {name}={flag.word}")
    return name


def _with_word(flag: WordedFlag) -> list[str]:
    return [f"{name}={flag.word}" for name in flag.opts]


def _options(args: Sequence[str]) -> Iterator[str]:
    for arg in args:
        if arg == "--":
            return
        yield arg
