"""Stand-ins for the parts of an engine that need a GPU, or of which nothing is asked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import torch

from coldfork import virtual

REQUESTS = 4
#: The lengths of the batch that is captured, and of the one that is replayed.
CAPTURED, REPLAYED = [1, 2, 3, 4], [7, 5, 2, 9]


class _Anything(type):
    """Stands in for a class, function or type that is not used here."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(name)

    def __getitem__(cls, _: object) -> Any:
        return cls

    def __or__(cls, _: object) -> Any:
        return cls

    __ror__ = __or__


def stand_in(name: str) -> Any:
    """A class that can be subclassed, subscripted, called and used as a decorator."""
    return _Anything(
        name, (), {"__init__": lambda self, *_, **__: None, "__call__": lambda self, *_, **__: None}
    )


class Off:
    """A setting that is off, and all that hangs on it: nothing is done, and the answer is no."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> Any:
        return self

    def __bool__(self) -> bool:
        return False

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class StandIns(MetaPathFinder, Loader):
    """Finds the modules of an engine: theirs in the sources, and stand-ins for all others."""

    def __init__(
        self,
        sources: Path,
        roots: Sequence[str],
        theirs: Sequence[str],
        known: dict[str, dict[str, Any]],
        edited: Mapping[str, Path] = MappingProxyType({}),
    ) -> None:
        self.edited = edited
        self.sources = sources
        self.roots = roots
        self.theirs = theirs
        self.known = known

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] not in self.roots:
            return None
        file = self.edited.get(name) or self.sources / Path(*name.split(".")).with_suffix(".py")
        if name in self.theirs and file.exists():
            return spec_from_file_location(name, file)
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__dict__.update(self.known.get(spec.name, {}))
        module.__dict__["__getattr__"] = lambda name: self._missing(module, name)
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass

    def _missing(self, module: ModuleType, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = stand_in(name)
        setattr(module, name, made)
        return made


class CapturedGraph:
    """A graph of theirs, which is a virtual one once it was captured."""

    captured: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.captured, name)


@contextlib.contextmanager
def capturing() -> Iterator[None]:
    """Whoever captures a CUDA graph captures a virtual one."""

    @contextlib.contextmanager
    def graph(cuda_graph: CapturedGraph, pool: Any = None, **_: object) -> Iterator[None]:
        with virtual.capture(pool) as cuda_graph.captured:
            yield

    before = {name: getattr(torch.cuda, name) for name in ("graph", "CUDAGraph", "graph_pool_handle")}
    torch.cuda.graph, torch.cuda.CUDAGraph = graph, CapturedGraph
    torch.cuda.graph_pool_handle = lambda: None
    yield
    for name, value in before.items():
        setattr(torch.cuda, name, value)


def verdict(found: torch.Tensor) -> str:
    """Judge a replay on a batch that the capture had not seen."""
    wanted = torch.cumsum(torch.tensor(REPLAYED), 0)
    return "right" if torch.equal(found.long(), wanted) else f"WRONG: {found.tolist()}, not {wanted.tolist()}"
