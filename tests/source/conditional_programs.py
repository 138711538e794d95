"""Generated modules that wake a device under conditions, and what CPython says of each under all of them.

The atoms of the conditions are environment variables, calls of a module that nobody can look into, packages
that may be installed, and what the assumed machine decides. Each has two outcomes, and a module is run once
for every combination.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any
from unittest import mock

from hypothesis import strategies as st

from tests.source.programs import Draw

PRELUDE = """\
import importlib.util
import os
import sys

import probe
import torch

"""
WAKES = ("torch.cuda.init()", "torch.cuda.is_available()")


@dataclass(frozen=True)
class Atom:
    """A test whose outcome depends on nothing else, and how the two outcomes come about."""

    text: str
    name: str
    kind: str
    value: str = ""
    """The text that the variable is set to."""


def atoms() -> dict[str, Atom]:
    """All atoms by their text."""
    made = [
        Atom('os.environ.get("V0")', "V0", "variable", "1"),
        Atom('os.getenv("V1", "on") == "on"', "V1", "variable", "off"),
        Atom('os.environ.get("V2", "") != "x"', "V2", "variable", "x"),
        Atom('os.getenv("V3") is None', "V3", "variable", "1"),
        *[Atom(f"probe.p{number}()", f"p{number}", "probe") for number in range(4)],
        Atom('probe.name() == "n"', "name", "probe", "n"),
        Atom('importlib.util.find_spec("nowhere_at_all") is not None', "nowhere_at_all", "package"),
        Atom('importlib.util.find_spec("flash_attn") is None', "flash_attn", "package"),
    ]
    return {atom.text: atom for atom in made}


ATOMS = atoms()
#: What the machine of the profile decides.
DECIDED = (
    "torch.version.hip is None", "torch.version.hip", "torch.version.cuda", "sys.version_info >= (3, 8)",
    'sys.platform == "beos"', "torch.version.cuda is None",
)  # fmt: skip


@dataclass
class Writer:
    """Writes one module."""

    draw: Draw
    used: list[str]
    """The atoms of this module."""
    lines: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    askers: list[str] = field(default_factory=list)
    """Functions that return the outcome of a test."""
    variables: list[str] = field(default_factory=list)
    number: int = 0
    values: bool = True
    """Whether outcomes may be kept in variables and returned."""

    def pick(self, options: tuple[str, ...] | list[str]) -> str:
        return self.draw(st.sampled_from(options))

    def fresh(self, kind: str) -> str:
        self.number += 1
        return f"{kind}{self.number}"

    def test(self, depth: int = 2) -> str:
        kinds = ["atom", "atom", "atom", "decided"]
        if depth:
            kinds += ["not", "and", "or", "and", "or", *["ternary"][: self.values]]
        if self.variables:
            kinds += ["variable", "variable"]
        if self.askers:
            kinds += ["asked"]
        kind = self.pick(kinds)
        if kind == "atom":
            return self.pick(self.used)
        if kind == "decided":
            return self.pick(DECIDED)
        if kind == "variable":
            return self.pick(self.variables)
        if kind == "asked":
            return f"{self.pick(self.askers)}()"
        if kind == "not":
            return f"not ({self.test(depth - 1)})"
        one = f"({self.test(depth - 1)})"
        if not self.values and all(atom in one for atom in self.used):
            return one
        other = f"({self._beside(one, depth - 1)})"
        if kind == "ternary":
            return f"({one} if {self.test(depth - 1)} else {other})"
        return f"{one} {kind} {other}"

    def _beside(self, one: str, depth: int) -> str:
        """Another operand; without values, one that asks for something else: tautologies are not seen."""
        used = self.used
        if not self.values:
            self.used = [atom for atom in used if atom not in one]
        try:
            return self.test(depth)
        finally:
            self.used = used

    def block(self, indent: int, depth: int, in_function: bool) -> None:
        for _ in range(self.draw(st.integers(1, 2 if depth else 1))):
            self.statement(indent, depth, in_function)

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def statement(self, indent: int, depth: int, in_function: bool) -> None:  # noqa: C901 (a list of kinds)
        kinds = ["wake", "wake", "and", "ternary"]
        if depth:
            kinds += ["if", "if", "if", "else", "else", "elif"]
        if self.functions:
            kinds += ["call", "call"]
        if in_function:
            kinds += ["return"]
        if self.values and depth:
            kinds += ["variable", "flag"]
        kind = self.pick(kinds)
        wake = self.pick([*WAKES, *[f"{name}()" for name in self.functions]])
        if kind == "wake":
            self.put(indent, wake)
        elif kind == "call":
            self.put(indent, f"{self.pick(self.functions)}()")
        elif kind == "and":
            self.put(indent, f"({self.test(1)}) {self.pick(['and', 'or'])} {wake}")
        elif kind == "ternary":
            self.put(indent, f"{wake} if {self.test(1)} else None")
        elif kind == "return":
            self.put(indent, f"if {self.test()}:")
            self.put(indent + 1, "return")
        elif kind == "variable":
            name = self.fresh("v")
            self.put(indent, f"{name} = {self.test()}")
            if not (in_function and indent > 1) and not (not in_function and indent):
                self.variables.append(name)
        elif kind == "flag":
            name = self.fresh("v")
            self.put(indent, f"{name} = {self.pick(['False', 'True', 'None'])}")
            self.put(indent, f"if {self.test()}:")
            self.put(indent + 1, f"{name} = {self.pick(['True', 'False', '1'])}")
            if not (in_function and indent > 1) and not (not in_function and indent):
                self.variables.append(name)
        else:
            self.put(indent, f"if {self.test()}:")
            self.block(indent + 1, depth - 1, in_function)
            if kind == "elif":
                self.put(indent, f"elif {self.test()}:")
                self.block(indent + 1, depth - 1, in_function)
            if kind in ("else", "elif"):
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, in_function)

    def function(self) -> None:
        kept = list(self.variables)
        if self.values and self.draw(st.booleans()):
            name = self.fresh("ask")
            self.put(0, f"def {name}():")
            if self.draw(st.booleans()):
                self.put(1, f"if {self.test()}:")
                self.put(2, f"return {self.test(1)}")
            self.put(1, f"return {self.test()}")
            self.askers.append(name)
        else:
            name = self.fresh("run")
            self.put(0, f"def {name}():")
            self.block(1, 2, True)
            self.functions.append(name)
        self.variables = kept
        self.put(0, "")


@st.composite
def modules(draw: Draw, values: bool = True) -> str:
    """A module that uses up to four atoms."""
    used = draw(st.lists(st.sampled_from(sorted(ATOMS)), min_size=2, max_size=4, unique=True))
    writer = Writer(draw, used, values=values)
    for _ in range(draw(st.integers(0, 3))):
        writer.function()
        if draw(st.booleans()) and values:
            name = writer.fresh("V_")
            writer.put(0, f"{name} = {writer.test()}")
            writer.variables.append(name)
    writer.block(0, 2, False)
    writer.statement(0, 2, False)
    return PRELUDE + "\n".join(writer.lines) + "\n"


@dataclass(frozen=True)
class Run:
    """One run of a module: the lines that woke the device, and what conditions can be asked of."""

    world: Mapping[str, bool]
    woken: frozenset[int]
    names: Mapping[str, Any]
    environment: Mapping[str, str]

    def holds(self, condition: str) -> bool:
        """Whether a condition, as it is printed, is true of this run.

        A variable that no line has set by the end has neither outcome.
        """
        text = re.sub(r"the environment variable (\w+) is set", r"('\1' in os.environ)", condition)
        text = re.sub(r"the environment variable (\w+) is unset", r"('\1' not in os.environ)", text)
        text = re.sub(r"\b([a-z_]\w*) is not installed", r"(importlib.util.find_spec('\1') is None)", text)
        text = re.sub(r"\b([a-z_]\w*) is installed", r"(importlib.util.find_spec('\1') is not None)", text)
        text = re.sub(
            r"(one of )?\d+ more conditions? holds?|nothing before it ends what it is a part of", "True", text
        )
        text = text.replace("the same test comes out both ways", "False").replace("not: ", "not ")
        with self.inside():
            return all(bool(eval(text, {}, _Names(self.names, unset))) for unset in (True, False))

    def presumes(self, presumed: tuple[str, ...]) -> bool:
        """Whether everything that was presumed is so in this run."""
        text = [re.sub(r"^(\w+) is unset$", r"the environment variable \1 is unset", one) for one in presumed]
        return all(self.holds(one) for one in text)

    def inside(self) -> Any:
        return _World(self.world, self.environment)


class _Names(dict[str, Any]):
    def __init__(self, names: Mapping[str, Any], unset: bool) -> None:
        super().__init__(names)
        self.unset = unset

    def __missing__(self, name: str) -> Any:
        if name in ("os", "sys", "importlib"):
            return {"os": os, "sys": sys, "importlib": importlib}[name]
        if not re.fullmatch(r"v\d+", name):
            raise KeyError(name)
        return self.unset


class _World:
    """The process as one combination of outcomes has it."""

    def __init__(self, world: Mapping[str, bool], environment: Mapping[str, str]) -> None:
        real = importlib.util.find_spec

        def find_spec(name: str, package: str | None = None) -> Any:
            wanted = [atom for atom in ATOMS.values() if atom.name == name and atom.kind == "package"]
            if wanted:
                return (
                    object()
                    if world.get(wanted[0].text, False) is not ("is None" in wanted[0].text)
                    else None
                )
            return real(name, package)

        self._patches: list[Any] = [
            mock.patch.dict(os.environ, environment, clear=True),
            mock.patch.object(importlib.util, "find_spec", find_spec),
        ]

    def __enter__(self) -> None:
        for one in self._patches:
            one.start()

    def __exit__(self, *problem: object) -> None:
        for one in reversed(self._patches):
            one.stop()


def runs(source: str, path: str) -> Iterator[Run]:
    """Run a module under every combination of the outcomes of its atoms."""
    used = [text for text in ATOMS if text in source]
    code = compile(source, path, "exec", dont_inherit=True)
    for outcomes in itertools.product((False, True), repeat=len(used)):
        yield _run(code, path, dict(zip(used, outcomes, strict=True)))


def _run(code: Any, path: str, world: dict[str, bool]) -> Run:
    environment = {}
    for text, outcome in world.items():
        atom = ATOMS[text]
        unset = "==" in text or "!=" in text or "is None" in text  # its outcome where the variable is unset
        if atom.kind == "variable" and outcome is not unset:
            environment[atom.name] = atom.value
    woken: set[int] = set()
    names: dict[str, Any] = {}
    torch = _torch(path, woken)
    probe = ModuleType("probe")
    for text, outcome in world.items():
        atom = ATOMS[text]
        if atom.kind == "probe":
            answer: Any = (atom.value if outcome else "other") if atom.value else outcome
            setattr(probe, atom.name, lambda answer=answer: answer)
    module = ModuleType("generated")

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code.co_filename == path:
            names.update((key, one) for key, one in frame.f_locals.items() if not key.startswith("__"))

    modules = {"torch": torch, "torch.cuda": torch.cuda, "torch.version": torch.version, "probe": probe}
    with _World(world, environment), mock.patch.dict(sys.modules, modules):
        sys.setprofile(note)
        try:
            exec(code, module.__dict__)
        finally:
            sys.setprofile(None)
    return Run(world, frozenset(woken), names, environment)


def _torch(path: str, woken: set[int]) -> Any:
    torch: Any = ModuleType("torch")
    torch.version = ModuleType("torch.version")
    torch.version.cuda, torch.version.hip = "12.8", None
    torch.cuda = ModuleType("torch.cuda")

    def sink(answer: Any) -> Callable[[], Any]:
        def call() -> Any:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frame.f_code.co_name != "<module>":
                frame = frame.f_back
            if frame is not None and frame.f_code.co_filename == path:
                woken.add(frame.f_lineno)
            return answer

        return call

    torch.cuda.init, torch.cuda.is_available = sink(None), sink(True)
    return torch
