"""CPython as the oracle: a stand-in for torch that remembers which import-time line every call came from.

Started as a program with folders as arguments it imports every module below the first ones and prints one
JSON list: what importing each module called, and the import-time lines behind it. Imported, it serves
generated modules.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

_TORCH = ("torch", "torch.cuda", "torch.version")
_OPTIMIZED = 1  # inspect.CO_OPTIMIZED, without importing inspect
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
#: Functions of `torch.cuda` that touch the device, with the stand-in's answers. Others are harmless.
_ANSWERS: dict[str, Any] = {
    "is_available": True,
    "device_count": 1,
    "get_device_capability": (9, 0),
    "get_device_name": "",
    "get_device_properties": None,
    "current_device": 0,
    "synchronize": None,
}


@dataclass(frozen=True)
class Call:
    """One call of the stand-in, with the import-time lines it came from, innermost first."""

    name: str
    arguments: tuple[Any, ...]
    sites: tuple[tuple[str, int], ...]


@dataclass
class Recorder:
    """The stand-ins, and what was called of them."""

    calls: list[Call] = field(default_factory=list)

    def function(self, name: str) -> Callable[..., Any]:
        """A function of `torch.cuda` that remembers its calls."""

        def call(*arguments: Any, **words: Any) -> Any:
            if name in _ANSWERS:
                self.calls.append(Call(name, arguments, tuple(_sites(sys._getframe(1)))))
            return _ANSWERS.get(name)

        return call

    def install(self) -> None:
        """Put the stand-ins where an import finds them."""
        recorder = self

        class Cuda(ModuleType):
            def __init__(self, name: str) -> None:
                super().__init__(name)
                self.__path__: list[str] = []

            def __getattr__(self, name: str) -> Any:
                if name.startswith("_"):
                    raise AttributeError(name)
                return recorder.function(name)

        torch = ModuleType("torch")
        torch.__path__ = []
        version = ModuleType("torch.version")
        version.cuda, version.hip = "12.8", None  # type: ignore[attr-defined]
        cuda = Cuda("torch.cuda")
        torch.cuda, torch.version = cuda, version  # type: ignore[attr-defined]
        torch.__version__ = "2.8.0"  # type: ignore[attr-defined]
        sys.modules.update({"torch": torch, "torch.cuda": cuda, "torch.version": version})


@contextmanager
def standing_in() -> Iterator[Recorder]:
    """Stand-ins where an import finds them; afterwards what was there before is there again."""
    recorder = Recorder()
    kept = {name: sys.modules.get(name) for name in _TORCH}
    recorder.install()
    try:
        yield recorder
    finally:
        for name, before in kept.items():
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before


def waking_lines(source: str, path: Path) -> list[int]:
    """The lines of a module behind which CPython calls a sink when it runs it, as it comes to them."""
    with standing_in() as recorder:
        module = ModuleType("generated")
        try:
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        except ValueError:
            pass  # a raise that nothing catches ends the import
    return list(
        dict.fromkeys(line for call in recorder.calls for file, line in call.sites[:1] if file == str(path))
    )


def _sites(frame: FrameType | None) -> Iterator[tuple[str, int]]:
    """For every module being imported the line it has come to, in a class body if it stands in one."""
    inner: list[FrameType] = []
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            at = frame
            while inner and _belongs(inner[-1], at):
                at = inner.pop()
            yield at.f_code.co_filename, at.f_lineno
            inner.clear()
        else:
            inner.append(frame)
        frame = frame.f_back


def _belongs(frame: FrameType, module: FrameType) -> bool:
    """Whether a frame right inside module code stands for a part of the statement in the same file."""
    code = frame.f_code
    if code.co_filename != module.f_code.co_filename:
        return False
    if code.co_name.startswith("<generic parameters of "):
        return True  # around what a class or function with type parameters runs where it stands
    return not code.co_flags & _OPTIMIZED or code.co_name in _COMPREHENSIONS


def module_names(folder: Path) -> Iterator[str]:
    """The dotted names of all modules below a folder."""
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        if all(part.isidentifier() for part in parts):
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_alone(recorder: Recorder, name: str, before: frozenset[str]) -> str | None:
    """Import one module as if nothing of the checked code had been imported; why it failed, if it did."""
    for loaded in set(sys.modules) - before:
        del sys.modules[loaded]
    recorder.calls.clear()
    try:
        importlib.import_module(name)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return None


def main() -> None:
    """Import what lies in the folders before `--`, with the folders behind it standing beside."""
    sys.dont_write_bytecode = True
    arguments = sys.argv[1:]
    split = arguments.index("--")
    sys.path[:0] = [*arguments[:split], *arguments[split + 1 :]]
    recorder = Recorder()
    recorder.install()
    before = frozenset(sys.modules)
    told = []
    for folder in arguments[:split]:
        for name in dict.fromkeys(module_names(Path(folder))):
            error = imported_alone(recorder, name, before)
            told.append(
                {"module": name, "error": error, "calls": [[c.name, c.sites] for c in recorder.calls]}
            )
    print(json.dumps(told))


if __name__ == "__main__":
    main()
