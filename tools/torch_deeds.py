"""What every public function of one torch version does to a device, on each kind of machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from torch_frames import RaisedError, Reached
from torch_interpreter import Interpreter
from torch_sources import Sources
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


class TorchVersion:
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
        """The names a program may use, each with the attributes that lead to it."""
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
        """What was not seen through: C functions nobody described, waking names on unknown objects."""
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
        """An instance made with what its constructor requires; what that wakes is another symbol's matter."""
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
