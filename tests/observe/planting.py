"""Generates packages in which one line wakes the planted device, and says where it stands.

The expectation is read off the text: the line that bears `# SITE` is the import-time line, the one that
bears `# CALL` makes the waking call. Nothing here asks coldfork anything, and CPython has to agree with the
text: with `planted_device.confess()` in place of the waking call, the stack must be the one that is expected.
"""

from __future__ import annotations

import functools
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from tests.observe.plantable import (
    FILLERS,
    IMPORTS,
    LOADING,
    MISCHIEF,
    PACKAGE_INIT,
    PLACES,
    WAKINGS,
    WAYS,
    Place,
    Waking,
)

PACKAGE = "grown"
SITE = "# SITE"
CALL = "# CALL"
CONFESSION = "planted_device.confess()"

#: How the files of a program lie on the disk.
DRESSES = ("plain", "carriage returns", "byte order mark", "form feeds", "archive")


@dataclass
class Text:
    """The source of one module, line by line; `@S`, `@C` and `@I` become comments."""

    number: int = 0
    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Add lines."""
        text = text.replace("@S", f"{SITE} ").replace("@C", CALL).replace("@I", f"# IMPORT {self.number}")
        self.lines += text.split("\n")

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True)
class Program:
    """The files of a program by module name, and what was planted where."""

    files: dict[str, str]
    modules: tuple[str, ...]
    """The modules that import one another, the last one is guilty."""
    waking: Waking
    functions: tuple[str, ...]
    """The scopes that may stand at the guilty module's site."""
    caller: str
    """The module of the function that makes the waking call."""
    caller_functions: tuple[str, ...]
    dress: str


@dataclass(frozen=True)
class Planted:
    """A program on disk and what must be said of it."""

    root: str
    """What has to stand on `sys.path`."""
    entry: str
    module: str
    path: str
    line: int
    functions: tuple[str, ...]
    call_path: str
    call_line: int
    call_functions: tuple[str, ...]
    waking: Waking
    chain: tuple[tuple[str, int | None], ...]
    paths: tuple[str, ...]
    """The files of the chain."""
    described: str
    """What the program looks like, for the failure message."""


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs in which importing the first module wakes the device in the last one."""
    depth = draw(st.integers(0, 4))
    waking = draw(st.sampled_from(WAKINGS))
    dress = draw(st.sampled_from(DRESSES))
    texts = {"__init__": Text(), "_loading": Text()}
    texts["__init__"].add(PACKAGE_INIT)
    texts["_loading"].add(LOADING.strip("\n"))
    names = [f"m{number}" for number in range(depth + 1)]
    for number, name in enumerate(names):
        text = texts[name] = Text(number)
        for filler in draw(st.lists(st.sampled_from(FILLERS), max_size=2)):
            text.add(filler.format(p=PACKAGE))
        if draw(st.booleans()):
            sibling = f"s{number}"
            texts[sibling] = Text()
            texts[sibling].add(draw(st.sampled_from(FILLERS)).format(p=PACKAGE))
            text.add(f"from {PACKAGE} import {sibling}")
        if number < depth:
            if draw(st.integers(0, 3)) == 0:
                text.add(draw(st.sampled_from(MISCHIEF)))
            # What loads by hand here opens files, which an archive has none of.
            ways = [way for way in IMPORTS if dress != "archive" or "_loading" not in way]
            text.add(draw(st.sampled_from(ways)).format(p=PACKAGE, m=names[number + 1]))
    guilty = texts[names[-1]]
    mischief = draw(st.sampled_from(MISCHIEF))
    if draw(st.booleans()):
        guilty.add(mischief)
    functions, caller, caller_functions = draw(_plants(guilty, texts, waking))
    if mischief and draw(st.booleans()):
        guilty.add(mischief)
    for name in names:
        for filler in draw(st.lists(st.sampled_from(FILLERS), max_size=2)):
            texts[name].add(filler.format(p=PACKAGE))
    return Program(
        files={name: str(text) for name, text in texts.items()},
        modules=tuple(names),
        waking=waking,
        functions=functions,
        caller=caller or names[-1],
        caller_functions=caller_functions,
        dress=dress,
    )


@st.composite
def _plants(
    draw: st.DrawFn, guilty: Text, texts: dict[str, Text], waking: Waking
) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
    """The scopes at the site, the other module in which the call stands if any, and its function."""
    guilty.add("import planted_device")
    if draw(st.booleans()):
        place = draw(st.sampled_from(_places(waking.statement)))
        guilty.add(place.text.format(w=waking.statement))
        inner = ("<genexpr>",) if "drained" in place.text else ("<lambda>",) if "called" in place.text else ()
        return place.functions, None, inner or place.functions
    # The function that wakes stands in the same module or in another one.
    elsewhere = draw(st.booleans())
    home = texts.setdefault("toolbox", Text()) if elsewhere else guilty
    if elsewhere:
        home.add("import planted_device")
    deep = draw(st.booleans())
    home.add(f"def waker(*anything):\n    before = 1\n    {waking.statement}  @C\n    return 0")
    if deep:
        home.add("def outer(*anything):\n    return waker(*anything)")
    called = "outer" if deep else "waker"
    if elsewhere:
        lazily = draw(st.booleans())
        if lazily:
            guilty.add(f"def {called}(*anything):\n    from {PACKAGE}.toolbox import {called} as found")
            guilty.add("    return found(*anything)")
        else:
            guilty.add(f"from {PACKAGE}.toolbox import {called}")
    way = draw(st.sampled_from([way for way in WAYS if way.exists]))
    guilty.add(way.text.format(f=called))
    return way.functions, "toolbox" if elsewhere else None, ("waker",)


@functools.cache
def _places(statement: str) -> list[Place]:
    """The places that take a statement, on this Python."""
    expression = _compiles(f"({statement})")
    return [
        place
        for place in PLACES
        if place.exists and (place.statement or expression) and _compiles(place.text.format(w=statement))
    ]


def _compiles(text: str) -> bool:
    try:
        compile(text.replace("@S", "#").replace("@C", "#"), "<place>", "exec")
    except SyntaxError:
        return False
    return True


def write(folder: Path, program: Program, *, confessing: bool = False) -> Planted:
    """Put a program on disk; `confessing` has it say where it stands instead of waking the device."""
    root = folder / ("confessing" if confessing else "waking")
    lines = {name: source.split("\n") for name, source in program.files.items()}
    if confessing:
        home = lines[program.caller]
        at = _marked_line(home, CALL) - 1
        home[at] = home[at].replace(program.waking.statement, CONFESSION, 1)
    root = _put(root, lines, program.dress)
    package = root / PACKAGE
    *importers, guilty = program.modules
    site = _marked_line(lines[guilty], SITE)
    chain = [
        (f"{PACKAGE}.{name}", _marked_line(lines[name], f"# IMPORT {number}"))
        for number, name in enumerate(importers)
    ]
    shown = (
        f"--- {name}\n" + "\n".join(text)
        for name, text in lines.items()
        if name not in ("_loading", "__init__")
    )
    return Planted(
        root=str(root),
        entry=f"{PACKAGE}.{program.modules[0]}",
        module=f"{PACKAGE}.{guilty}",
        path=str(package / f"{guilty}.py"),
        line=site,
        functions=program.functions,
        call_path=str(package / f"{program.caller}.py"),
        call_line=_marked_line(lines[program.caller], CALL),
        call_functions=program.caller_functions,
        waking=program.waking,
        chain=(*chain, (f"{PACKAGE}.{guilty}", site)),
        paths=tuple(str(package / f"{name}.py") for name in program.modules),
        described=f"({program.dress})\n" + "\n".join(shown),
    )


def _put(root: Path, lines: dict[str, list[str]], dress: str) -> Path:
    """Write the modules, and return what has to stand on the path."""
    root.mkdir()
    files = {f"{PACKAGE}/{name}.py": _dressed(text, dress) for name, text in lines.items()}
    if dress == "archive":
        place = root / "code.zip"
        with zipfile.ZipFile(place, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return place
    (root / PACKAGE).mkdir()
    for name, data in files.items():
        (root / name).write_bytes(data)
    return root


def _dressed(lines: list[str], dress: str) -> bytes:
    if dress == "form feeds":
        lines = [("\f" if line and not line[0].isspace() else "") + line for line in lines]
    data = ("\r\n" if dress == "carriage returns" else "\n").join(lines).encode()
    return b"\xef\xbb\xbf" + data if dress == "byte order mark" else data


def _marked_line(lines: list[str], mark: str) -> int:
    found = [number for number, line in enumerate(lines, 1) if mark in line]
    assert len(found) == 1, (mark, lines)
    return found[0]
