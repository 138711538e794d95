"""Reads the Python sources of one published torch version, module by module."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from coldfork.source.program.loader import Loader


class Sources:
    """The Python sources of one torch version, read on demand."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._trees: dict[str, ast.Module | None] = {}
        self.loader = Loader((3, 13), 1, remembering=False)

    def tree(self, module: str) -> ast.Module | None:
        """The parsed module, None when there is no such file."""
        if module not in self._trees:
            path = self.path(module)
            self._trees[module] = ast.parse(path.read_text("utf-8")) if path else None
        return self._trees[module]

    def path(self, module: str) -> Path | None:
        """The file of a module."""
        base = self.root.joinpath(*module.split("."))
        for path in (base / "__init__.py", base.with_suffix(".py")):
            if path.is_file():
                return path
        return None

    def package(self, module: str) -> str:
        """The package that relative imports of `module` start from."""
        path = self.path(module)
        return module if path and path.name == "__init__.py" else module.rpartition(".")[0]

    def exported(self, module: str) -> list[str]:
        """Return the names in a module's `__all__`, as far as it is written out."""
        tree = self.tree(module)
        for statement in tree.body if tree else ():
            match statement:
                case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names)):
                    return [str(name.value) for name in names if isinstance(name, ast.Constant)]
        return []

    def version(self) -> str:
        """The public version, as torch/version.py states it."""
        text = (self.root / "torch" / "version.py").read_text("utf-8")
        match = re.search(r"^__version__ = '([^'+]+)", text, re.MULTILINE)
        if match is None:
            raise ValueError(f"{self.root}: torch/version.py states no version")
        return match[1]
