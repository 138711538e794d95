"""Every command and flag that a text names exists: help, pages, messages, the documentation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import coldfork
from coldfork.cli.main import cli
from coldfork.rules import registry
from coldfork.rules.registry import pages

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
PACKAGE = Path(coldfork.__file__).parent

#: Options of pytest: those of our plugin, and pytest's own.
OF_PYTEST = {"--coldfork", "--coldfork-exact", "--coldfork-strict", "--coldfork-virtual"}
OF_PYTEST |= {"--collect-only", "--lf", "--continue-on-collection-errors"}
#: Options of git: those that we give it, and the one that a message recommends.
OF_GIT = {"--end-of-options", "--exclude-standard", "--ignore-submodules", "--is-shallow-repository"}
OF_GIT |= {"--no-abbrev", "--no-ext-diff", "--no-relative", "--no-renames", "--others", "--quiet", "--raw"}
OF_GIT |= {"--show-toplevel", "--unshallow", "--verify"}
#: Options of Docker, pip, nvidia-smi, Celery, gunicorn, py-spy and torchrun, which a remedy names.
IN_REMEDIES = {"--shm-size", "--ipc", "--gpus", "--no-build-isolation", "--no-binary", "--query-gpu"}
IN_REMEDIES |= {"--force-reinstall", "--pool", "--preload", "--native", "--pid", "--nproc-per-node"}
#: Options of Docker, pip, nvidia-smi and wsl, which the doctor's remedies name.
IN_REMEDIES |= {"--gpus", "--pids-limit", "--memory", "--ulimit", "--upgrade", "--gpu-reset", "--update"}
IN_REMEDIES |= {"--set-version"}
#: What a text may name that belongs to other programs.
FOREIGN_FLAGS = {"--check", "--draft", "--epochs", "--numa-bind", "--strict"} | OF_PYTEST | OF_GIT
FOREIGN_FLAGS |= {"--billiard-fork", "--multiprocessing-fork"}
FOREIGN_FLAGS |= IN_REMEDIES
#: Options of curl, wget and their like after which a secret stands.
FOREIGN_FLAGS |= {"--user", "--proxy-user", "--http-user", "--ftp-user", "--userpwd"}
#: Where the line of a watched program begins: what follows is the program's.
PROGRAM = re.compile(r"\S+\.py\b|(?<!\S)-[mc](?!\S)")
#: Words that follow the tool's name in a sentence; none may become a command without leaving this list.
PROSE = {
    "could",
    "fails",
    "has",
    "itself",
    "begin",
    "in",
    "into",
    "needs",
    "out",
    "reads",
    "stand",
    "starts",
    "watches",
    "with",
    "would",
}
MENTION = re.compile(r"(?<![\w%-])coldfork ((?:--?)?[a-z][a-z-]*(?: [^`\n;|]*)?)")
FLAG = re.compile(r"(?<![\w-])--[a-z](?:[a-z-]*[a-z])?(?![\w-])")


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Every command by the words that call it."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", child) for below, child in commands(command, context))


COMMANDS = dict(commands(cli, click.Context(cli, help_option_names=["-h", "--help"])))


def flags_of(command: click.Command) -> set[str]:
    """The options a command takes."""
    own = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    return {name for name in own if name.startswith("-")} | {"--help", "-h"}


ALL_FLAGS = set().union(*(flags_of(command) for command in COMMANDS.values())) | flags_of(cli)


def complaints(text: str) -> Iterator[str]:
    """Yield the names in a text that do not exist."""
    for mention in MENTION.findall(text):
        words = mention.split()
        if words[0] in PROSE:
            continue
        if words[0].startswith("-"):
            if words[0] not in flags_of(cli):
                yield f"coldfork {words[0]}: no such flag"
            continue
        name = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else words[0]
        if name not in COMMANDS:
            yield f"coldfork {mention}: no such command"
            continue
        command = COMMANDS[name]
        ours = PROGRAM.split(mention, maxsplit=1)[0] if name in ("run", "exec") else mention
        yield from (
            f"coldfork {name} {flag}: no such flag"
            for flag in FLAG.findall(ours)
            if flag not in flags_of(command)
        )
        if name == "rule" and len(words) > 1 and re.fullmatch(r"[a-z]+(-[a-z]+)+", words[1]):
            if words[1] not in registry.NAMES:
                yield f"coldfork rule {words[1]}: no such rule"
    yield from (
        f"{flag}: no such flag" for flag in FLAG.findall(text) if flag not in ALL_FLAGS | FOREIGN_FLAGS
    )


def strings(file: Path) -> Iterator[str]:
    """The strings a module can print: all but docstrings; what an f-string fills in becomes NAME."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    silent = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            silent.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            silent.update(id(part) for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "NAME" for part in node.values)
            yield "".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value


def quoted(text: str) -> str:
    """Return the parts that a Markdown text shows as code; the prose around them is free."""
    # Every block is matched, so that the end of one is not taken for the beginning of another.
    fenced = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    blocks = [block for kind, block in fenced if kind in ("", "text", "sh", "bash", "console")]
    indented = re.findall(r"^(?: {4,})(.*coldfork .*)$", text, re.MULTILINE)
    return "\n".join([*blocks, *indented, *re.findall(r"`([^`\n]+)`", text)])


def test_messages_name_only_what_exists() -> None:
    found = {
        str(file.relative_to(PACKAGE)): [wrong for text in strings(file) for wrong in complaints(text)]
        for file in sorted(PACKAGE.rglob("*.py"))
    }
    assert len(found) > 500
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_names_only_what_exists(name: str) -> None:
    command = COMMANDS[name] if name else cli
    text = command.get_help(click.Context(command, info_name=f"coldfork {name}".strip()))
    assert list(complaints(text.partition("\n\n")[2])) == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_pages_name_only_what_exists(page: object) -> None:
    assert list(complaints(quoted(page.markdown))) == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "file",
    sorted(
        [
            *ROOT.glob("*.md"),
            *PACKAGE.rglob("*.md"),
            *(ROOT / "docs").rglob("*.md"),
            *(ROOT / "examples").rglob("*.md"),
        ]
    ),
    ids=lambda file: file.relative_to(ROOT).as_posix(),
)
def test_the_documentation_names_only_what_exists(file: Path) -> None:
    text = re.sub(r"\./dev coldfork", "coldfork", file.read_text(encoding="utf-8"))
    shown = "\n".join(line for line in quoted(text).splitlines() if "coldfork " in line)
    assert list(complaints(shown)) == []


def test_the_test_can_fail() -> None:
    assert not PROSE & set(COMMANDS)
    assert list(complaints("run coldfork chek src/")) != []
    assert list(complaints("run coldfork check --mend src/")) != []
    assert list(complaints("read more: coldfork rule no-such-rule")) != []
    assert list(complaints("pass --no-such-flag")) != []
    assert list(complaints("coldfork baseline writes")) == []
    assert list(complaints("coldfork check --profile cuda; read more: coldfork rule waking-import")) == []
