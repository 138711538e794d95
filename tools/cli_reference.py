"""Writes docs/reference/cli.md and config.md from the commands and settings: `./dev reference`"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from coldfork.checking.settings import SETTINGS, Kind, Setting
from coldfork.cli.main import cli
from generated_files import settle

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"

CLI_HEAD = """\
# The command line

`coldfork COMMAND --help` prints the same. `python -m coldfork` is the same program. Results go to
standard output, everything else to standard error.
"""

CONFIG_HEAD = """\
# Configuration

coldfork reads the table `[tool.coldfork]` of the nearest `pyproject.toml` that has one, upwards
from the first path checked, or from the current folder when no path is given. Every key that means
nothing is refused by name.

A flag is heard before an environment variable, the variable before the configuration, and that
before the default. Paths in the file are relative to it. A flag that is on in the configuration is
taken back with its opposite, such as `--no-exit-zero` or `--cache`.

```toml
[tool.coldfork]
profile = "cuda"
fail-on = "conditional"
baseline = "coldfork-baseline.json"
exclude = ["third_party/"]

[tool.coldfork.per-file-ignores]
"src/engine/kernels/*.py" = ["device-query-at-import"]
```

## Keys that are flags too
"""

CONFIG_TAIL = """\
## Keys that are no flags

| key | value | meaning |
| --- | --- | --- |
| `exclude` | a list of strings | globs as in a .gitignore, relative to the file: no findings there |
| `per-file-ignores` | a table: glob to list of rules | rules that say nothing about matching files |
| `vllm` | true or false | whether the plugin for vLLM acts; `COLDFORK_VLLM=on` and `off` outrank it |
| `knowledge` | a table | what [your own libraries](knowledge.md) do to devices, beside what is known |

A module that is excluded is still read where another one imports it.

## Environment

Besides the variables in the table: `COLDFORK_CACHE_DIR` is the folder of the analysis cache.
Without it the cache lies in `$XDG_CACHE_HOME/coldfork` or `~/.cache/coldfork`
(`~/Library/Caches/coldfork` on macOS, `%LOCALAPPDATA%\\coldfork` on Windows). It is always safe to
delete; where it cannot be written, coldfork works without. `NO_COLOR` and `FORCE_COLOR` mean what
they mean elsewhere. In a variable, several values are separated by spaces or commas, and several
folders as in `PATH`.
"""


def cli_page() -> str:
    """The page of the command line."""
    sections = [CLI_HEAD]
    for name, command in _commands(cli, "coldfork"):
        context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
        context.help_option_names = ["-h", "--help"]
        sections.append(f"## `{name}`\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(sections)


def config_page() -> str:
    """The page of the configuration."""
    head = "| key | value | default | variable | meaning |\n| --- | --- | --- | --- | --- |\n"
    return f"{CONFIG_HEAD}\n{head}{''.join(_row(setting) for setting in SETTINGS)}\n{CONFIG_TAIL}"


def _commands(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, group
    context = click.Context(group)
    for below in group.list_commands(context):
        command = group.get_command(context, below)
        if isinstance(command, click.Group):
            yield from _commands(command, f"{name} {below}")
        elif command is not None:
            yield f"{name} {below}", command


def _row(setting: Setting) -> str:
    value = ", ".join(f'`"{choice}"`' for choice in setting.choices) or setting.kind.value
    default = "" if setting.default in (None, ()) else f"`{_toml(setting)}`"
    meaning = setting.help.replace("|", "\\|")
    return f"| `{setting.name}` | {value} | {default} | `{setting.variable}` | {meaning} |\n"


def _toml(setting: Setting) -> str:
    if setting.kind is Kind.FLAG:
        return "true" if setting.default else "false"
    return f'"{setting.default}"' if isinstance(setting.default, str) else str(setting.default)


if __name__ == "__main__":
    sys.exit(
        settle(
            "Write docs/reference/cli.md and config.md.",
            "./dev reference",
            {FOLDER / "cli.md": cli_page(), FOLDER / "config.md": config_page()},
        )
    )
