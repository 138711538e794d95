"""Derives from torch's published Python sources what its functions wake, and writes torch-derived.toml.

`python tools/derive_torch.py SOURCES [SOURCES ...]`: each folder holds the `torch` package of one version.
What the C functions do is read from torch.toml; everything above them is followed through torch's own code,
by the evaluator that follows imports for `coldfork check`.
A fact that holds in every version given has no range; otherwise the bounds are versions that were given.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from packaging.version import Version

from coldfork.model.effects import EffectKind
from torch_facts.effects import HARMLESS, PACKAGES, UNSETTLED, Effect, Symbol, TorchVersion
from torch_facts.evaluator import LEVELS

KNOWLEDGE = Path(__file__).resolve().parent.parent / "src" / "coldfork" / "knowledge"
TARGET = KNOWLEDGE / "torch-derived.toml"
KINDS = {level: kind for kind, level in LEVELS.items()}
#: Calls inside calls take more of the stack than Python allows by default.
RECURSION = 20_000
REMEDIES = {
    "is_available": "is-available",
    "device_count": "device-count",
    "get_device_capability": "capability",
    "get_device_properties": "capability",
    "get_device_name": "capability",
    "is_bf16_supported": "capability",
    "is_tf32_supported": "capability",
}


def described_functions() -> tuple[dict[str, EffectKind], frozenset[str]]:
    """Return the effects of C functions listed in torch.toml, and the harmless ones."""
    document = tomllib.loads((KNOWLEDGE / "torch.toml").read_text("utf-8"))
    levels = {
        name: EffectKind(entry["does"])
        for entry in document["effect"]
        for name in entry.get("calls", ())
        if name.startswith("torch._C.") and not {"argument", "versions"} & set(entry)
    }
    harmless = frozenset(name for entry in document.get("harmless", ()) for name in entry["prefixes"])
    return levels, harmless


def described_calls(*keys: str) -> frozenset[str]:
    """The calls of Python functions that torch.toml describes itself, in entries that have these keys."""
    document = tomllib.loads((KNOWLEDGE / "torch.toml").read_text("utf-8"))
    told = [entry for entry in document["effect"] if all(key in entry for key in keys)]
    return frozenset(name for entry in told for name in entry.get("calls", ()))


@dataclass(frozen=True)
class Line:
    """One fact to be written: an effect, where it holds, and in which versions."""

    effect: Effect
    accelerators: tuple[str, ...]
    versions: str
    file: str
    remedy: str
    symbol: Symbol

    def about(self) -> tuple[object, ...]:
        """Everything but the symbol: lines that agree in it are written as one entry."""
        return self.effect, self.accelerators, self.versions, self.file, self.remedy


def lines(versions: Sequence[TorchVersion]) -> list[Line]:
    """The facts of all versions, merged over versions and accelerators."""
    merged: dict[tuple[Symbol, Effect, str], list[str]] = {}
    for accelerator in ("cuda", "rocm", "xpu"):
        symbols = {symbol: None for version in versions for symbol in version.effects[accelerator]}
        for symbol in symbols:
            for effect, range_ in ranges(symbol, accelerator, versions):
                merged.setdefault((symbol, effect, range_), []).append(accelerator)
    found = [
        Line(
            effect,
            tuple(accelerators),
            range_,
            symbol.file,
            REMEDIES.get(symbol.name.rpartition(".")[2], "first-use"),
            replace(symbol, file=""),
        )
        for (symbol, effect, range_), accelerators in merged.items()
        if effect != UNSETTLED
    ]
    return sorted(found, key=repr)


def ranges(symbol: Symbol, accelerator: str, versions: Sequence[TorchVersion]) -> list[tuple[Effect, str]]:
    """Return a symbol's effects by range of versions; a version without the symbol changes nothing."""
    present = [
        (version.number, version.effects[accelerator][symbol])
        for version in versions
        if symbol in version.effects[accelerator]
    ]
    runs = [
        (effect, [number for number, _ in run]) for effect, run in groupby(present, key=lambda item: item[1])
    ]
    found = []
    for index, (effect, numbers) in enumerate(runs):
        bounds = [f">={numbers[0]}"] if index else []
        if index + 1 < len(runs):
            bounds.append(f"<{runs[index + 1][1][0]}")
        found.append((effect, ",".join(bounds)))
    return found


def render(found: Sequence[Line], numbers: Sequence[str]) -> str:
    """The text of torch-derived.toml."""
    summary = f"Derived from the Python sources of torch {', '.join(numbers)}."
    header = "# Written by tools/derive_torch.py from torch's own sources; do not edit.\n"
    parts = [f'{header}distribution = "torch"\nsummary = {quote(summary)}\n']
    # What torch.toml says of the arguments with which a call does nothing would be lost.
    by_arguments = described_calls("unless_argument")
    awake = [line for line in found if line.effect != HARMLESS and line.symbol.name not in by_arguments]
    by_receiver = [
        list(group) for _, group in groupby(awake, key=lambda line: (line.about(), line.symbol.receiver))
    ]
    merged: dict[tuple[object, ...], list[list[Line]]] = {}
    for group in by_receiver:
        names = tuple(line.symbol.name for line in group) if group[0].symbol.receiver else ()
        merged.setdefault((group[0].about(), names), []).append(group)
    parts += [entry(groups) for groups in merged.values()]
    described = described_calls()
    # A prefix covers what lies under it, so a class is left out: its methods are another matter.
    cold = [
        line
        for line in found
        if line.effect == HARMLESS
        and not line.symbol.receiver
        and not line.symbol.constructs
        # What torch.toml says of a call with some arguments would be lost.
        and line.symbol.name not in described
    ]
    for (versions, file), harmless in groupby(
        sorted(cold, key=lambda line: (line.versions, line.file)), key=lambda line: (line.versions, line.file)
    ):
        found_on = {line.symbol.name: set(line.accelerators) for line in harmless}
        # Harmless is said without an accelerator, so it has to hold for all that the symbol is about.
        everywhere = [name for name, where in found_on.items() if where == set(accelerators_of(name))]
        if everywhere:
            parts.append(
                f"[[harmless]]\nprefixes = {array(everywhere)}\n"
                f"{range_line(versions)}source = {quote(file)}\n"
            )
    return "\n".join(parts)


def accelerators_of(name: str) -> tuple[str, ...]:
    """The accelerators that a symbol is about, by its package."""
    return next(accelerators for package, accelerators in PACKAGES.items() if name.startswith(package))


def entry(groups: Sequence[Sequence[Line]]) -> str:
    """One `[[effect]]`: symbols, or the same methods of one class under all its spellings."""
    first = groups[0][0]
    effect = first.effect
    if first.symbol.receiver:
        methods = sorted({line.symbol.name for line in groups[0]})
        receivers = sorted({group[0].symbol.receiver for group in groups}, key=len, reverse=True)
        keys = [f"methods = {array(methods)}", f"receivers = {array(receivers)}"]
    else:
        keys = [f"calls = {array(sorted({line.symbol.name for group in groups for line in group}))}"]
    keys.append(f"does = {quote(KINDS[effect.level])}")
    keys.append(f"accelerator = {array(first.accelerators)}")
    if first.versions:
        keys.append(f"versions = {quote(first.versions)}")
    if effect.only_if:
        keys.append('only_if = ["nvml-fails", "amdsmi-fails"]')
    if effect.unless_env:
        keys.append('unless_env = { PYTORCH_NVML_BASED_CUDA_CHECK = "1" }')
    if effect.unless_device is not None:
        place = f", position = {effect.unless_device}" if effect.unless_device >= 0 else ""
        keys.append(f"unless_argument = {{ name = {quote(effect.parameter)}{place} }}")
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
    parser.add_argument(
        "--output", type=Path, default=TARGET, help="where to write; torch-derived.toml if left out"
    )
    options = parser.parse_args()
    levels, harmless = described_functions()
    sys.setrecursionlimit(RECURSION)
    versions = sorted(
        (TorchVersion(root, levels, harmless) for root in options.sources),
        key=lambda version: Version(version.number),
    )
    if options.unsettled:
        for version in versions:
            for name, why in version.why.items():
                print(version.number, name, why)
        return 0
    options.output.write_text(render(lines(versions), [version.number for version in versions]), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
