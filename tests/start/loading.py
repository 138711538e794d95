"""Makes a module of a text, with another beside it, and imports it for as long as it is needed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


@contextmanager
def loaded(folder: Path, name: str, text: str, beside: Mapping[str, str]) -> Iterator[ModuleType]:
    """The module of this text, imported from a file in a folder; `beside` are others in it, by name."""
    for other, content in beside.items():
        (folder / f"{other}.py").write_text(content, encoding="utf-8")
    file = folder / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made
        spec.loader.exec_module(made)
        yield made
    finally:
        sys.path.remove(str(folder))
        for each in (name, *beside):
            sys.modules.pop(each, None)
