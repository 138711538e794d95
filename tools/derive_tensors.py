"""Derives from an installed torch which of its functions and methods return tensors: knowledge/tensors.py.

`python tools/derive_tensors.py [--check]`, by a Python that has torch. The stubs that torch ships say what
its functions and methods return; of those without one, the schemas of the operators of the same name do.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from generated_files import settle

TARGET = Path(__file__).resolve().parent.parent / "src" / "coldfork" / "knowledge" / "tensors.py"
NAMESPACES = ("fft", "linalg", "special")
HEADER = '''"""Generated from stubs and schemas of torch {version} by tools/derive_tensors.py; do not edit.

Sources: torch/_C/_VariableFunctions.pyi, torch/_C/__init__.pyi (class TensorBase and the old tensor types),
torch/_C/_nn.pyi, torch/nn/functional.pyi, the schemas of operators that have no stub, torch/utils/_device.py.
Every overload of them returns a tensor, or several: what is taken out of those, and used as one, is a tensor.
"""

# fmt: off
# ruff: noqa: SIM905
from __future__ import annotations
'''


def is_tensor(annotation: ast.expr | None) -> bool:
    """Whether an annotation is that of a tensor, or of a tuple or list of tensors."""
    written = ast.unparse(annotation) if annotation is not None else ""
    if written in ("Tensor", "torch.Tensor", "Self") or written.startswith("torch.return_types."):
        return True
    inner = written.partition("[")[2].rstrip("]").replace("...", "").replace("torch.", "").split(",")
    held = {part.strip() for part in inner} - {""}
    return written.startswith(("tuple[", "list[", "_tuple[", "Sequence[")) and held == {"Tensor"}


def returning(functions: Iterable[ast.stmt]) -> dict[str, bool]:
    """Whether every overload of a function returns tensors, by its public name."""
    found: dict[str, bool] = {}
    for node in functions:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found[node.name] = found.get(node.name, True) and is_tensor(node.returns)
    return found


def operators() -> dict[str, bool]:
    """Whether every overload of an operator returns tensors, by its name."""
    import torch

    found: dict[str, bool] = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            name = schema.name.removeprefix("aten::")
            tensors = {str(one.type) for one in schema.returns} <= {"Tensor", "List[Tensor]"}
            found[name] = found.get(name, True) and tensors and bool(schema.returns)
    return found


def offered(owner: object, stub: dict[str, bool], known: dict[str, bool], prefix: str = "") -> set[str]:
    """The public names of a module or class that return tensors: by its stub, else by their operators."""
    found = {
        name: stub.get(name, known.get(prefix + name, False))
        for name in dir(owner)
        if not name.startswith("_") and callable(getattr(owner, name))
    }
    return {name for name, tensors in found.items() if tensors}


def fields() -> set[str]:
    """The names under which torch's named tuples hold tensors."""
    import torch

    kinds = [kind for name, kind in vars(torch.return_types).items() if not name.startswith("_")]
    return {
        name
        for kind in kinds
        if isinstance(kind, type)
        for name, field in vars(kind).items()
        if type(field).__name__ == "member_descriptor"
    }


def constructors() -> set[str]:
    """The functions that take the default device: `_device_constructors` of torch/utils/_device.py."""
    from torch.utils import _device

    tree = ast.parse(Path(str(_device.__file__)).read_text("utf-8"))
    function = next(node for node in tree.body if getattr(node, "name", "") == "_device_constructors")
    found = next(node for node in ast.walk(function) if isinstance(node, ast.Set))
    return {ast.unparse(element).removeprefix("torch.") for element in found.elts}


def render() -> str:
    """The text of knowledge/tensors.py for the torch that is installed."""
    import torch

    root = Path(torch.__file__).parent
    stubs = {
        path: ast.parse((root / path).read_text("utf-8")).body
        for path in ("_C/_VariableFunctions.pyi", "_C/__init__.pyi", "_C/_nn.pyi", "nn/functional.pyi")
    }
    classes = {node.name: node for node in stubs["_C/__init__.pyi"] if isinstance(node, ast.ClassDef)}
    known = operators()
    functions = offered(torch, returning(stubs["_C/_VariableFunctions.pyi"]), known)
    functional = returning([*stubs["_C/_nn.pyi"], *stubs["nn/functional.pyi"]])
    functions |= {f"nn.functional.{name}" for name in offered(torch.nn.functional, functional, known)}
    for space in NAMESPACES:
        found = offered(getattr(torch, space), {}, known, f"{space}_")
        functions |= {f"{space}.{name}" for name in found}
    functions |= {name for name in classes if name.endswith("Tensor") and name != "Tensor"}
    body = classes["TensorBase"].body
    attributes = {
        ast.unparse(node.target)
        for node in body
        if isinstance(node, ast.AnnAssign) and is_tensor(node.annotation)
    }
    methods = offered(torch.Tensor, returning(body), known)
    sections = {
        "FUNCTIONS": functions,
        "METHODS": methods,
        "ATTRIBUTES": attributes | fields(),
        "ON_DEFAULT_DEVICE": constructors(),
    }
    parts = [HEADER.format(version=version("torch").partition("+")[0])]
    for name, names in sections.items():
        text = textwrap.fill(" ".join(sorted(names)), 110, break_long_words=False, break_on_hyphens=False)
        parts.append(f'{name} = frozenset("""\n{text}\n""".split())\n')
    return "\n".join(parts)


def main() -> int:
    """Write knowledge/tensors.py, or with --check only say whether it is current."""
    command = "python tools/derive_tensors.py"
    return settle("Derive which of torch's functions return tensors.", command, {TARGET: render()})


if __name__ == "__main__":
    sys.exit(main())
