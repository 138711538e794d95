"""The effects of every public function of one torch version on a device, on each kind of machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from coldfork.model.effects import EffectKind
from torch_facts.following import DEVICE_PARAMETERS, Following, Target
from torch_facts.machine import Machine
from torch_facts.sources import Sources

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


@dataclass(frozen=True)
class Effect:
    """The effect of calling a symbol on one kind of machine, without the versions."""

    level: int
    only_if: bool = False
    """The management library has to stay silent for it."""
    unless_env: bool = False
    """PYTORCH_NVML_BASED_CUDA_CHECK=1 prevents it while the management library answers."""
    unless_device: int | None = None
    """Naming a device in the parameter at this place (-1: by keyword only) prevents it."""
    parameter: str = ""


#: Derived as doing nothing to a device in any way.
HARMLESS = Effect(0)
#: Does something on some ways only, or calls C functions nobody has described: to be judged by hand.
UNSETTLED = Effect(-1)


@dataclass(frozen=True)
class Symbol:
    """A public name, or a method of a public class."""

    name: str
    receiver: str = ""
    file: str = ""
    constructs: bool = False


class TorchVersion:
    """One published version of torch and what its functions do, by accelerator and symbol."""

    def __init__(self, root: Path, levels: Mapping[str, EffectKind], harmless: frozenset[str]) -> None:
        self.sources = Sources(root)
        self.levels = levels
        self.harmless = harmless
        self.number = self.sources.version()
        self.effects: dict[str, dict[Symbol, Effect]] = {"cuda": {}, "rocm": {}, "xpu": {}}
        self.why: dict[str, str] = {}
        for accelerator, effects in self.effects.items():
            self._follow(accelerator, effects)

    def _follow(self, accelerator: str, effects: dict[Symbol, Effect]) -> None:
        """Follow every public symbol on machines with one accelerator."""
        machines = Machines(
            *(
                Following(self.sources, machine, self.levels, self.harmless)
                for machine in (
                    Machine(accelerator),
                    Machine(accelerator, management=False),
                    Machine(accelerator, nvml_check=True),
                )
            )
        )
        for module in self._modules(accelerator):
            for symbol, path in self._symbols(machines.plain, module):
                effects[symbol] = self._effect(symbol, module, path, machines)

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

    def _symbols(self, following: Following, module: str) -> Iterable[tuple[Symbol, tuple[str, ...]]]:
        """The names a program may use, each with the attributes that lead to it."""
        for name in following.names(module):
            if name.startswith("_") and name not in PRIVATE:
                continue
            target = following.target(module, (name,))
            # A package offers what its modules define; other imports are for a module's own use.
            if target is None or (target.module != module and not target.module.startswith(f"{module}.")):
                continue
            path = self.sources.path(target.module)
            file = str(path.relative_to(self.sources.root)) if path else ""
            yield Symbol(f"{module}.{name}", "", file, target.is_class), (name,)
            for method in target.methods:
                yield Symbol(method, f"{module}.{name}", file), (name, method)

    def _effect(self, symbol: Symbol, module: str, path: tuple[str, ...], machines: Machines) -> Effect:
        """Return the effect of a symbol, seen on three machines, with and without a device named."""
        bare = machines.plain.reach(module, path, given=False)
        given = machines.plain.reach(module, path, given=True)
        mute = machines.mute.reach(module, path, given=True)
        checked = machines.checked.reach(module, path, given=True)
        opaque = bare.opaque | given.opaque | mute.opaque
        if not any(reached.possible for reached in (bare, given, mute, checked)) and not opaque:
            return HARMLESS
        if given.certain:
            return Effect(given.certain, unless_env=checked.certain < given.certain)
        if mute.certain:
            return Effect(mute.certain, only_if=True)
        parameter = device_parameter(machines.plain.target(module, path))
        if bare.certain and parameter is not None:
            return Effect(bare.certain, unless_device=parameter[1], parameter=parameter[0])
        self.why[symbol.receiver + "." + symbol.name] = (
            f"{bare.certain}/{bare.possible} {given.certain}/{given.possible} {' '.join(sorted(opaque))}"
        )
        return UNSETTLED


@dataclass(frozen=True)
class Machines:
    """One version of torch on the three machines whose difference tells what an effect depends on."""

    plain: Following
    mute: Following
    """The management library does not answer."""
    checked: Following
    """PYTORCH_NVML_BASED_CUDA_CHECK=1 is set."""


def device_parameter(target: Target | None) -> tuple[str, int] | None:
    """The parameter that takes the device, and its place."""
    if target is None:
        return None
    for index, (name, _) in enumerate(target.parameters):
        if name in DEVICE_PARAMETERS:
            return name, index - target.bound
    return None
