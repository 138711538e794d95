"""Derives from torch's published Python sources what its functions wake, and writes torch-derived.toml.

`python tools/derive_torch.py SOURCES [SOURCES ...]`: each folder holds the `torch` package of one version. What
the C functions do is read from torch.toml; everything above them is followed through torch's own code. A fact that
holds in every version given has no range; otherwise the bounds are versions that were given.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from packaging.version import Version

from torch_interpreter import Interpreter
from torch_sources import Sources
from torch_syntax import RaisedError, Reached
from torch_values import (
    INDEX,
    SOMETHING,
    ClassValue,
    FunctionValue,
    InstanceValue,
    Machine,
    ModuleValue,
    PreparedValue,
    Value,
)

KNOWLEDGE = Path(__file__).resolve().parent.parent / "src" / "coldfork" / "knowledge"
TARGET = KNOWLEDGE / "torch-derived.toml"
LEVELS = {"initialises-driver": 1, "creates-context": 2}
NAMES = {level: name for name, level in LEVELS.items()}
#: Packages whose public functions are followed, with the accelerators they are about.
PACKAGES = {
    "torch.cuda": ("cuda", "rocm"),
    "torch.xpu": ("xpu",),
    "torch.accelerator": ("cuda", "rocm", "xpu"),
    "torch.random": ("cuda", "rocm", "xpu"),
    "torch.backends.cuda": ("cuda", "rocm"),
    "torch.backends.cudnn": ("cuda", "rocm"),
    "torch.utils._triton": ("cuda", "rocm", "xpu"),
}
#: Packages of classes that only hold settings.
SKIPPED = ("torch.cuda.amp",)
#: Private functions that other libraries call all the same.
PRIVATE = (
    "_lazy_init",
    "_sleep",
    "_is_compiled",
    "_parse_visible_devices",
    "_lazy_call",
)
DEVICE_PARAMETERS = ("device", "device_index", "device_id")
REMEDIES = {
    "is_available": "is-available",
    "device_count": "device-count",
    "get_device_capability": "capability",
    "get_device_properties": "capability",
    "get_device_name": "capability",
    "is_bf16_supported": "capability",
    "is_tf32_supported": "capability",
}


@dataclass(frozen=True)
class Deed:
    """What calling a symbol does on one kind of machine, without the versions."""

    level: int
    only_if: bool = False
    """The management library has to stay silent for it."""
    unless_env: bool = False
    """PYTORCH_NVML_BASED_CUDA_CHECK=1 prevents it while the management library answers."""
    unless_device: int | None = None
    """Naming a device in the parameter at this place (-1: by keyword only) prevents it."""
    parameter: str = ""


#: Derived as doing nothing to a device in any way.
HARMLESS = Deed(0)
#: Does something on some ways only, or calls C functions nobody has described: to be judged by hand.
UNSETTLED = Deed(-1)


@dataclass(frozen=True)
class Symbol:
    """A public name, or a method of a public class."""

    name: str
    receiver: str = ""
    file: str = ""
    constructs: bool = False


def c_levels() -> tuple[dict[str, int], frozenset[str]]:
    """What torch.toml says about C functions: the level each one reaches, and those that are harmless."""
    document = tomllib.loads((KNOWLEDGE / "torch.toml").read_text("utf-8"))
    levels = {
        name: LEVELS[entry["does"]]
        for entry in document["effect"]
        for name in entry.get("calls", ())
        if name.startswith("torch._C.") and not {"argument", "versions"} & set(entry)
    }
    harmless = frozenset(name for entry in document.get("harmless", ()) for name in entry["prefixes"])
    return levels, harmless


class Version_:  # noqa: N801 - `Version` is packaging's
    """One published version of torch and what its functions do, by accelerator and symbol."""

    def __init__(self, root: Path, levels: Mapping[str, int], harmless: frozenset[str]) -> None:
        self.sources = Sources(root)
        self.levels = levels
        self.harmless = harmless
        self.number = self.sources.version()
        self.deeds: dict[str, dict[Symbol, Deed]] = {"cuda": {}, "rocm": {}, "xpu": {}}
        self.why: dict[str, str] = {}
        for accelerator, deeds in self.deeds.items():
            self._follow(accelerator, deeds)

    def _follow(self, accelerator: str, deeds: dict[Symbol, Deed]) -> None:
        """Follow every public symbol on machines with one accelerator."""
        interpreter = Interpreter(self.sources, Machine(accelerator), self.levels)
        for module in self._modules(accelerator):
            for symbol, path in self._symbols(interpreter, module):
                deeds[symbol] = self._deed(symbol, path, interpreter)

    def _modules(self, accelerator: str) -> list[str]:
        """The modules whose public names are followed for one accelerator."""
        found = []
        for package, accelerators in PACKAGES.items():
            path = self.sources.path(package)
            if path is None or accelerator not in accelerators:
                continue
            found.append(package)
            if path.name == "__init__.py":
                inner = sorted(item.stem for item in path.parent.glob("*.py") if item.stem != "__init__")
                found += [f"{package}.{name}" for name in inner]
        return [
            module
            for module in found
            if not module.startswith(SKIPPED)
            and (module in PACKAGES or not module.rpartition(".")[2].startswith("_"))
        ]

    def _symbols(self, interpreter: Interpreter, module: str) -> Iterable[tuple[Symbol, tuple[str, ...]]]:
        """The names a program may use, each with the attributes that lead to it from its module."""
        for name in list(interpreter.names(module)):
            if name.startswith("_") and name not in PRIVATE:
                continue
            value = interpreter.member(ModuleValue(module), name)
            if not isinstance(value, FunctionValue | ClassValue) or not value.module.startswith("torch."):
                continue
            path = self.sources.path(value.module)
            file = str(path.relative_to(self.sources.root)) if path else ""
            # A package offers what its modules define; other imports are for a module's own use.
            if value.module != module and not value.module.startswith(f"{module}."):
                continue
            yield Symbol(f"{module}.{name}", "", file, isinstance(value, ClassValue)), (name,)
            if isinstance(value, ClassValue):
                for method in self._methods(value):
                    yield Symbol(method, f"{module}.{name}", file), (name, method)

    def _methods(self, cls: ClassValue) -> list[str]:
        """The methods of a class that are followed: entering it, and what it offers publicly."""
        names = [getattr(item, "name", "") for item in cls.node.body]
        return [name for name in names if name == "__enter__" or (name and not name.startswith("_"))]

    def _deed(self, symbol: Symbol, path: tuple[str, ...], interpreter: Interpreter) -> Deed:
        """What calling a symbol does, seen on three machines, with and without a device named."""
        module = symbol.receiver.rpartition(".")[0] or symbol.name.rpartition(".")[0]
        plain = interpreter.machine
        bare = self._reach(interpreter, module, path, given=False)
        given = self._reach(interpreter, module, path, given=True)
        interpreter.machine = replace(plain, management=False)
        mute = self._reach(interpreter, module, path, given=True)
        interpreter.machine = replace(plain, nvml_check=True)
        env = self._reach(interpreter, module, path, given=True)
        interpreter.machine = plain
        opaque = self._opaque(interpreter, bare.opaque | given.opaque | mute.opaque)
        everything = (bare, given, mute, env)
        if not any(reached.possible for reached in everything) and not opaque:
            return HARMLESS
        if given.certain:
            return Deed(given.certain, unless_env=env.certain < given.certain)
        if mute.certain:
            return Deed(mute.certain, only_if=True)
        parameter = self._device_parameter(interpreter, module, path)
        if bare.certain and parameter is not None:
            return Deed(bare.certain, unless_device=parameter[1], parameter=parameter[0])
        self.why[symbol.receiver + "." + symbol.name] = (
            f"{bare.certain}/{bare.possible} {given.certain}/{given.possible} {' '.join(sorted(opaque))}"
        )
        return UNSETTLED

    def _opaque(self, interpreter: Interpreter, names: frozenset[str]) -> frozenset[str]:
        """What a call could not see through: C functions nobody described, waking names on unknown objects."""
        offered = interpreter.names("torch.cuda")
        return frozenset(
            name
            for name in names
            if (isinstance(offered.get(name[2:]), FunctionValue) if name.startswith("?.") else True)
            and not any(name == prefix or name.startswith(f"{prefix}.") for prefix in self.harmless)
        )

    def _resolve(self, interpreter: Interpreter, module: str, path: tuple[str, ...]) -> Value:
        """The function, class or bound method that a path leads to."""
        value = interpreter.member(ModuleValue(module), path[0])
        if len(path) == 2 and isinstance(value, ClassValue):
            return interpreter.member(self._instance(interpreter, value), path[1])
        return value

    def _instance(self, interpreter: Interpreter, cls: ClassValue) -> Value:
        """An instance made with whatever its constructor requires; what that wakes is another symbol's matter."""
        interpreter.reached = Reached()
        try:
            made = interpreter.call(cls, [], self._keywords(interpreter, cls, given=True))
        except RaisedError:
            made = InstanceValue(cls)
        return made if isinstance(made, InstanceValue) else InstanceValue(cls)

    def _keywords(self, interpreter: Interpreter, target: Value, given: bool) -> dict[str, Value]:
        """The arguments to call with; `given` names a device wherever the signature takes one."""
        keywords: dict[str, Value] = {}
        for name, required in self._parameters(interpreter, target):
            if name in DEVICE_PARAMETERS and (given or required):
                keywords[name] = INDEX
            elif required:
                keywords[name] = SOMETHING
        return keywords

    def _reach(self, interpreter: Interpreter, module: str, path: tuple[str, ...], given: bool) -> Reached:
        """Call a symbol on a fresh machine."""
        target = self._resolve(interpreter, module, path)
        keywords = self._keywords(interpreter, target, given)
        interpreter.reached = Reached()
        try:
            result = interpreter.call(target, [], keywords)
            if isinstance(result, PreparedValue):
                interpreter.enter(result)
        except RaisedError:
            pass
        return interpreter.reached

    def _parameters(self, interpreter: Interpreter, target: Value) -> list[tuple[str, bool]]:
        """The parameters of a callable, each with whether it has to be given."""
        if isinstance(target, ClassValue):
            for name in ("__new__", "__init__"):
                method = interpreter.member(InstanceValue(target), name)
                if isinstance(method, FunctionValue):
                    return self._parameters(interpreter, method)[1:]
            return []
        if not isinstance(target, FunctionValue):
            return []
        spec = target.node.args
        positional = [*spec.posonlyargs, *spec.args]
        required = len(positional) - len(spec.defaults)
        return [
            *((item.arg, index < required) for index, item in enumerate(positional)),
            *((item.arg, False) for item in spec.kwonlyargs),
        ]

    def _device_parameter(
        self, interpreter: Interpreter, module: str, path: tuple[str, ...]
    ) -> tuple[str, int] | None:
        """The parameter that takes the device, and its place."""
        parameters = self._parameters(interpreter, self._resolve(interpreter, module, path))
        offset = len(path) - 1
        for index, (name, _) in enumerate(parameters):
            if name in DEVICE_PARAMETERS:
                return name, index - offset
        return None


@dataclass(frozen=True)
class Line:
    """One fact to be written: a deed, where it holds, and in which versions."""

    deed: Deed
    accelerators: tuple[str, ...]
    versions: str
    file: str
    remedy: str
    symbol: Symbol

    def about(self) -> tuple[object, ...]:
        """Everything but the symbol: lines that agree in it are written as one entry."""
        return self.deed, self.accelerators, self.versions, self.file, self.remedy


def lines(versions: Sequence[Version_]) -> list[Line]:
    """The facts of all versions, merged over versions and accelerators."""
    merged: dict[tuple[Symbol, Deed, str], list[str]] = {}
    for accelerator in ("cuda", "rocm", "xpu"):
        symbols = {symbol: None for version in versions for symbol in version.deeds[accelerator]}
        for symbol in symbols:
            for deed, range_ in ranges(symbol, accelerator, versions):
                merged.setdefault((symbol, deed, range_), []).append(accelerator)
    found = [
        Line(
            deed,
            tuple(accelerators),
            range_,
            symbol.file,
            REMEDIES.get(symbol.name.rpartition(".")[2], "first-use"),
            replace(symbol, file=""),
        )
        for (symbol, deed, range_), accelerators in merged.items()
        if deed != UNSETTLED
    ]
    return sorted(found, key=repr)


def ranges(symbol: Symbol, accelerator: str, versions: Sequence[Version_]) -> list[tuple[Deed, str]]:
    """What a symbol does, with the range of versions for each answer; a version without it changes nothing."""
    present = [
        (version.number, version.deeds[accelerator][symbol])
        for version in versions
        if symbol in version.deeds[accelerator]
    ]
    runs = [(deed, [number for number, _ in run]) for deed, run in groupby(present, key=lambda item: item[1])]
    found = []
    for index, (deed, numbers) in enumerate(runs):
        bounds = [f">={numbers[0]}"] if index else []
        if index + 1 < len(runs):
            bounds.append(f"<{runs[index + 1][1][0]}")
        found.append((deed, ",".join(bounds)))
    return found


def render(found: Sequence[Line], numbers: Sequence[str]) -> str:
    """The text of torch-derived.toml."""
    parts = [
        "# Written by tools/derive_torch.py from torch's own sources; do not edit.\n"
        'distribution = "torch"\n'
        f'summary = "Derived from the Python sources of torch {", ".join(numbers)}."\n'
    ]
    awake = [line for line in found if line.deed != HARMLESS]
    by_receiver = [
        list(group) for _, group in groupby(awake, key=lambda line: (line.about(), line.symbol.receiver))
    ]
    merged: dict[tuple[object, ...], list[list[Line]]] = {}
    for group in by_receiver:
        names = tuple(line.symbol.name for line in group) if group[0].symbol.receiver else ()
        merged.setdefault((group[0].about(), names), []).append(group)
    parts += [effect(groups) for groups in merged.values()]
    # A prefix covers what lies under it, so a class is left out: its methods are another matter.
    cold = [
        line
        for line in found
        if line.deed == HARMLESS and not line.symbol.receiver and not line.symbol.constructs
    ]
    for (versions, file), group in groupby(
        sorted(cold, key=lambda line: (line.versions, line.file)), key=lambda line: (line.versions, line.file)
    ):
        names = {line.symbol.name: set(line.accelerators) for line in group}
        # Harmless is said without an accelerator, so it has to hold for all that the symbol is about.
        everywhere = [name for name, where in names.items() if where == set(accelerators_of(name))]
        if everywhere:
            parts.append(
                f"[[harmless]]\nprefixes = {array(everywhere)}\n{range_line(versions)}source = {quote(file)}\n"
            )
    return "\n".join(parts)


def accelerators_of(name: str) -> tuple[str, ...]:
    """The accelerators that a symbol is about, by its package."""
    return next(accelerators for package, accelerators in PACKAGES.items() if name.startswith(package))


def effect(groups: Sequence[Sequence[Line]]) -> str:
    """One `[[effect]]`: symbols, or the same methods of one class under all its spellings."""
    first = groups[0][0]
    deed = first.deed
    if first.symbol.receiver:
        methods = sorted({line.symbol.name for line in groups[0]})
        receivers = sorted({group[0].symbol.receiver for group in groups}, key=len, reverse=True)
        keys = [f"methods = {array(methods)}", f"receivers = {array(receivers)}"]
    else:
        keys = [f"calls = {array(sorted({line.symbol.name for group in groups for line in group}))}"]
    keys.append(f"does = {quote(NAMES[deed.level])}")
    keys.append(f"accelerator = {array(first.accelerators)}")
    if first.versions:
        keys.append(f"versions = {quote(first.versions)}")
    if deed.only_if:
        keys.append('only_if = ["nvml-fails", "amdsmi-fails"]')
    if deed.unless_env:
        keys.append('unless_env = { PYTORCH_NVML_BASED_CUDA_CHECK = "1" }')
    if deed.unless_device is not None:
        place = f", position = {deed.unless_device}" if deed.unless_device >= 0 else ""
        keys.append(f"unless_argument = {{ name = {quote(deed.parameter)}{place} }}")
    keys.append(f"source = {quote(first.file)}")
    keys.append(f"remedy = {quote(first.remedy)}")
    return "[[effect]]\n" + "\n".join(keys) + "\n"


def range_line(versions: str) -> str:
    """The line that gives a range, if there is one."""
    return f"versions = {quote(versions)}\n" if versions else ""


def quote(text: str) -> str:
    """A TOML string; none of ours holds a quote or a backslash."""
    return f'"{text}"'


def array(names: Iterable[str]) -> str:
    """A TOML array, on lines of its own where it is long."""
    quoted = [quote(name) for name in names]
    line = f"[{', '.join(quoted)}]"
    return line if len(line) < 90 else "[\n" + "".join(f"    {name},\n" for name in quoted) + "]"


def main() -> int:
    """Write torch-derived.toml; with --unsettled say what was left to be judged by hand."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "sources", nargs="+", type=Path, help="folder that holds the torch package of a version"
    )
    parser.add_argument(
        "--unsettled", action="store_true", help="list what could not be settled, write nothing"
    )
    options = parser.parse_args()
    levels, harmless = c_levels()
    versions = sorted(
        (Version_(root, levels, harmless) for root in options.sources),
        key=lambda version: Version(version.number),
    )
    if options.unsettled:
        for version in versions:
            for name, why in version.why.items():
                print(version.number, name, why)
        return 0
    TARGET.write_text(render(lines(versions), [version.number for version in versions]), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
