"""Whether something imports a framework whenever this Python starts.

Python runs the lines of `.pth` files that begin with `import`, and the modules `sitecustomize` and
`usercustomize`, before any program. Their imports happen in every process, helpers and launchers included,
and a device that they wake is awake in all. The files are read; none is run.

- **ok**: none of them imports a framework that wakes devices.
- **warn**: one imports such a framework.
- **fail**: one makes a call that wakes a device, such as `torch.cuda.is_available()`.
- **skipped**: no folder of packages was found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.facts.interpreter import runnable_lines, startup_files
from coldfork.model.diagnosis import Answer, fail, ok, skipped, together, warn

_FRAMEWORKS = frozenset(
    {
        "accelerate", "bitsandbytes", "cuda", "cudf", "cuml", "cupy", "deepspeed", "jax", "jaxlib", "numba",
        "onnxruntime", "pycuda", "pyopencl", "rmm", "sglang", "tensorflow", "tensorrt", "torch", "torchaudio",
        "torchvision", "transformers", "triton", "vllm",
    }
)  # fmt: skip
_DEVICE_PARTS = frozenset({"cuda", "xpu", "hip"})


def examine(facts: Facts) -> Answer:
    """Read the files that Python runs at startup."""
    if not facts.python.folders:
        return skipped("no folder of packages was found")
    files = startup_files(facts.python)
    well = "no file imports a framework when Python starts"
    return together((a for file in files for a in _troubles(file)), ok(well, *map(str, files)))


def _troubles(file: Path) -> Iterator[Answer]:
    sources = runnable_lines(file) if file.suffix == ".pth" else [_text(file)]
    # Python runs the lines one by one, and stops at the first that is not valid Python.
    trees = takewhile(lambda tree: tree is not None, map(_parsed, sources))
    tree = ast.Module([node for tree in trees if tree is not None for node in tree.body], [])
    frameworks = sorted(_imported(tree) & _FRAMEWORKS)
    if not frameworks:
        return
    names = ", ".join(frameworks)
    call = next(_waking_calls(tree), None)
    remedy = f"import it where it is used, and take it out of {file}"
    if call is not None:
        yield fail(f"{file.name} calls {call} whenever Python starts", remedy, details=(str(file),))
    else:
        yield warn(f"{file.name} imports {names} whenever Python starts", remedy, details=(str(file),))


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""


def _parsed(source: str) -> ast.Module | None:
    """Return the syntax of this code and of strings that it passes to `exec`; None if it is not Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "exec":
            for given in node.args[:1]:
                if isinstance(given, ast.Constant) and isinstance(given.value, str):
                    inner = _parsed(given.value)
                    tree.body += [] if inner is None else inner.body
    return tree


def _imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _waking_calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = ast.unparse(node.func)
            parts = name.split(".")
            if parts[0] in _FRAMEWORKS and _DEVICE_PARTS & set(parts[1:]):
                yield name
