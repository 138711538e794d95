"""Generates packages in which one line wakes the planted device, and says where it stands.

The expectation is read off the text: the line that bears `# SITE` is the import-time line, the one that bears
`# CALL` makes the waking call. Nothing here asks coldfork anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

PACKAGE = "grown"
SITE = "# SITE"
CALL = "# CALL"


@dataclass(frozen=True)
class Waking:
    """A statement that wakes the device, and the name of the call in it as far as Python can tell it."""

    statement: str
    calls: dict[bool, tuple[str | None, ...]]
    """The dotted names that may be given: with sys.monitoring, and without."""
    frames: tuple[str, ...] = ()
    """Functions of the device's own that stand on the stack behind the line."""


WAKINGS = (
    Waking(
        "planted_device.wake()",
        {True: ("list.append",), False: ("list.append",)},
        ("wake",),
    ),
    Waking("planted_device.LIST.append(1)", {True: ("list.append",), False: ("list.append",)}),
    Waking(
        "planted_device.foreign_wake(planted_device.PLACE, 1, 1)",
        {True: ("memset",), False: ("planted_device.foreign_wake",)},
    ),
    Waking("planted_device.FIELD.value = 1", {True: (None, "ANY"), False: (None, "ANY")}),
)


@dataclass
class Text:
    """The source of one module, line by line."""

    lines: list[str] = field(default_factory=list)

    def add(self, text: str, mark: str = "") -> None:
        """Add lines; `mark` is put behind the last of them."""
        lines = text.split("\n")
        lines[-1] += f"  {mark}" if mark else ""
        self.lines += lines

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True)
class Place:
    """A position in a module at which import-time code stands."""

    name: str
    text: str
    function: str = "<module>"
    """The scope that stands at the site."""
    statement: bool = True
    """True when a statement fits, False when only an expression does."""


#: `{w}` is the waking statement or expression, which stands on the site's line.
PLACES = (
    Place("module", "{w}"),
    Place("class body", "class Holder:\n    x = 1\n    {w}", "Holder"),
    Place("nested class body", "class Outer:\n    class Inner:\n        {w}\n    y = 2", "Outer.Inner"),
    Place("if", "if True:\n    {w}"),
    Place("try", "try:\n    {w}\nexcept ValueError:\n    pass"),
    Place("except", "try:\n    raise ValueError\nexcept ValueError:\n    {w}"),
    Place("finally", "try:\n    pass\nfinally:\n    {w}"),
    Place("loop", "for turn in range(3):\n    if turn == 2:\n        {w}"),
    Place("with", "import contextlib\nwith contextlib.suppress(ValueError):\n    {w}"),
    Place("default argument", "def later(x=[\n    {w},\n]):\n    return x", statement=False),
    Place("several lines", "value = [\n    1,\n    {w},\n    2,\n]", statement=False),
    Place("class argument", "class Base:\n    def __init_subclass__(cls, flag=None): pass\n"
          "class Derived(\n    Base,\n    flag={w},\n): pass", statement=False),
    Place("f-string", "text = f'{{{w}}}'", statement=False),
    Place("annotation", "number: {w} = 1", statement=False),
)  # fmt: skip

#: Ways to reach a function that wakes; `{f}` is the call of it, which stands on the site's line.
WAYS = (
    Place("call", "{f}()"),
    Place("in a class body", "class Holder:\n    value = {f}()", "Holder"),
    Place("decorator", "@{f}\ndef decorated(): pass"),
    Place("method", "class Thing:\n    def __init__(self): {f}()\nThing()  #", ""),
    Place("sort key", "ordered = sorted([1], key=lambda number: {f}() or 0)"),
    Place("generator", "drained = list({f}() for number in (1,))"),
    Place("map", "drained = list(map({f}, (1,)))"),
    Place("lambda", "late = lambda: {f}()\nlate()  #", ""),
    Place("property", "class Thing:\n    @property\n    def value(self): return {f}()\nThing().value  #", ""),
)


@dataclass(frozen=True)
class Program:
    """The files of a program by module name, and what was planted where."""

    files: dict[str, str]
    modules: tuple[str, ...]
    """The modules that import one another, the last one is guilty."""
    waking: Waking
    function: str
    """The scope at the guilty module's site."""
    caller: str
    """The module of the function that makes the waking call."""
    caller_function: str


@dataclass(frozen=True)
class Planted:
    """A program on disk and what must be said of it."""

    entry: str
    module: str
    path: str
    line: int
    function: str
    call_path: str
    call_line: int
    call_function: str
    waking: Waking
    chain: tuple[tuple[str, int | None], ...]
    described: str
    """What the program looks like, for the failure message."""


FILLERS = (
    "import string",
    "import colorsys as colours",
    "def unused(a=1):\n    import planted_device\n    planted_device.wake()\n    return a",
    "class Quiet:\n    def never(self):\n        import planted_device\n        planted_device.wake()",
    "numbers = [n * n for n in range(5)]",
    "try:\n    import not_there_at_all\nexcept ImportError:\n    not_there_at_all = None",
    "exec(compile('quiet = 1', '<made>', 'exec'))",
    "import wave",
    "text = 'nothing to see'",
)

#: How a module imports the next one; the statement that does it bears the mark.
IMPORTS = (
    "import {p}.{m}",
    "from {p} import {m}",
    "from . import {m}",
    "from .{m} import *",
    "import importlib\nimportlib.import_module('{p}.{m}')",
    "__import__('{p}.{m}')",
    "import {p}.{m} as renamed",
    "try:\n    import {p}.{m}  #@\nfinally:\n    pass",
    "def lazily():\n    import {p}.{m}\nlazily()",
    "class Lazy:\n    from {p} import {m} as inside",
    "from . import _loading\n_loading.load('{p}.{m}')",
    "from . import _loading\n_loading.by_hand('{p}.{m}')",
    "from . import _loading\n_loading.on_first_use('{p}.{m}').anything_at_all_is_asked",
    "from . import _loading\n_loading.again('{p}.{m}')",
    "from . import _loading\n_loading.through_a_hook('{p}.{m}')",
)

LOADING = '''
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


def load(name):
    importlib.import_module(name)


def by_hand(name):
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def on_first_use(name):
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    module.anything_at_all_is_asked = None
    return module


def again(name):
    """Reload a module that was never loaded."""
    path = os.path.join(os.path.dirname(__file__), name.rpartition(".")[2] + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    importlib.reload(module)


class Loader(importlib.abc.Loader):
    """Runs a module's source itself, without importlib's loaders."""

    def __init__(self, path):
        self.path = path

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        with open(self.path) as file:
            exec(compile(file.read(), self.path, "exec"), module.__dict__)


class Finder(importlib.abc.MetaPathFinder):
    def __init__(self, wanted):
        self.wanted = wanted

    def find_spec(self, name, path=None, target=None):
        if name != self.wanted:
            return None
        place = os.path.join(os.path.dirname(__file__), name.rpartition(".")[2] + ".py")
        return importlib.util.spec_from_file_location(name, place, loader=Loader(place))


def through_a_hook(name):
    sys.meta_path.insert(0, Finder(name))
    importlib.import_module(name)
'''

REPLACED_IMPORT = """import builtins
def _replace(original):
    def replaced(*arguments, **named): return original(*arguments, **named)
    return replaced
builtins.__import__ = _replace(builtins.__import__)"""

#: What a module may do to itself and to the import system before or after it wakes.
MISCHIEF = (
    "",
    "import sys\nsys.modules[__name__] = __import__('types').SimpleNamespace(__name__=__name__)",
    REPLACED_IMPORT,
    "import sys\nsys.path_importer_cache.clear()",
    "import warnings\nwarnings.simplefilter('ignore')",
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs in which importing the first module wakes the device in the last one."""
    depth = draw(st.integers(0, 4))
    waking = draw(st.sampled_from(WAKINGS))
    texts = {"__init__": Text(), "_loading": Text(LOADING.strip("\n").split("\n"))}
    names = [f"m{number}" for number in range(depth + 1)]
    for number, name in enumerate(names):
        text = texts[name] = Text()
        for filler in draw(st.lists(st.sampled_from(FILLERS), max_size=2)):
            text.add(filler)
        if draw(st.booleans()):
            sibling = f"s{number}"
            texts[sibling] = Text()
            texts[sibling].add(draw(st.sampled_from(FILLERS)))
            text.add(f"from {PACKAGE} import {sibling}")
        if number < depth:
            importing = draw(st.sampled_from(IMPORTS)).format(p=PACKAGE, m=names[number + 1])
            _marked(
                text,
                importing,
                "#@" if "#@" in importing else importing.split("\n")[-1],
                f"# IMPORT {number}",
            )
    guilty = texts[names[-1]]
    mischief = draw(st.sampled_from(MISCHIEF))
    if draw(st.booleans()):
        guilty.add(mischief)
    function, caller, caller_function = draw(_plants(guilty, texts, waking))
    if mischief and draw(st.booleans()):
        guilty.add(mischief)
    for filler in draw(st.lists(st.sampled_from(FILLERS), max_size=2)):
        guilty.add(filler)
    for name in names[:-1]:
        for filler in draw(st.lists(st.sampled_from(FILLERS), max_size=1)):
            texts[name].add(filler)
    return Program(
        files={name: str(text) for name, text in texts.items()},
        modules=tuple(names),
        waking=waking,
        function=function,
        caller=caller or names[-1],
        caller_function=caller_function,
    )


@st.composite
def _plants(
    draw: st.DrawFn, guilty: Text, texts: dict[str, Text], waking: Waking
) -> tuple[str, str | None, str]:
    """The scope at the site, the other module in which the call stands if any, and its function."""
    guilty.add("import planted_device")
    direct = draw(st.booleans())
    if direct:
        fitting = [place for place in PLACES if place.statement or "=" not in waking.statement]
        place = draw(st.sampled_from(fitting))
        _marked(guilty, place.text.format(w=waking.statement), waking.statement, f"{CALL} {SITE}")
        return place.function, None, place.function
    # The function that wakes stands in the same module or in another one.
    elsewhere = draw(st.booleans())
    home = texts.setdefault("toolbox", Text()) if elsewhere else guilty
    if elsewhere:
        home.add("import planted_device")
    deep = draw(st.booleans())
    home.add(f"def waker(*anything):\n    before = 1\n    {waking.statement}", CALL)
    home.add("    return 0")
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
    way = draw(st.sampled_from(WAYS))
    text = way.text.format(f=called)
    if text.endswith("#"):
        guilty.add(text.rstrip("#").rstrip(), SITE)
    else:
        _marked(guilty, text, called, SITE)
    return way.function or "<module>", "toolbox" if elsewhere else None, "waker"


def _marked(text: Text, source: str, part: str, mark: str) -> None:
    """Add source in which the line that holds `part` bears the mark."""
    lines = source.split("\n")
    at = max(number for number, line in enumerate(lines) if part in line)
    for number, line in enumerate(lines):
        text.add(line, mark if number == at else "")


def write(folder: Path, program: Program) -> Planted:
    """Put a program on disk."""
    package = folder / PACKAGE
    package.mkdir()
    for name, source in program.files.items():
        (package / f"{name}.py").write_text(source, encoding="utf-8")
    lines = {name: source.split("\n") for name, source in program.files.items()}
    *importers, guilty = program.modules
    site = _marked_line(lines[guilty], SITE)
    chain = [
        (f"{PACKAGE}.{name}", _marked_line(lines[name], f"# IMPORT {number}"))
        for number, name in enumerate(importers)
    ]
    shown = (f"--- {name}\n{source}" for name, source in program.files.items() if name != "_loading")
    return Planted(
        entry=f"{PACKAGE}.{program.modules[0]}",
        module=f"{PACKAGE}.{guilty}",
        path=str(package / f"{guilty}.py"),
        line=site,
        function=program.function,
        call_path=str(package / f"{program.caller}.py"),
        call_line=_marked_line(lines[program.caller], CALL),
        call_function=program.caller_function,
        waking=program.waking,
        chain=(*chain, (f"{PACKAGE}.{guilty}", site)),
        described="\n".join(shown),
    )


def _marked_line(lines: list[str], mark: str) -> int:
    found = [number for number, line in enumerate(lines, 1) if mark in line]
    assert len(found) == 1, (mark, lines)
    return found[0]
