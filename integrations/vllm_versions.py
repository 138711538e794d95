"""Where versions of vLLM have what the plugin relies on: `./dev integration vllm_versions`"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from coldfork.plugins.vllm_plugin import CHOOSER, HOMES
from integrations.environment import Ended
from integrations.transcript import Transcript, main
from published import sources
from published.sources import Wanted

VERSIONS = ("0.11.0", "0.17.0", "0.22.0", "0.33.0")
HOOKS = {"a group of": "load_plugins_by_group", "general": "load_general_plugins"}

INTRODUCTION = """
`./dev integration vllm_versions` fetches the sources of versions of vLLM and reads in each what
coldfork's plugin relies on: the module that defines the choice of the start method, those that import it
by name, and where plugins are loaded. Nothing is installed or run.
"""


def run() -> Transcript:
    """Read them all."""
    transcript = Transcript("What the plugin needs of vLLM", INTRODUCTION)
    for version in VERSIONS:
        package = sources.obtain(Wanted("vllm", version)) / "vllm"
        transcript.step(
            f"vLLM {version}.",
            Ended(0, "\n".join(_read(package))),
            rf"^{CHOOSER} is defined in ({'|'.join(HOMES)})$",
            rf"^{CHOOSER} is imported by name in .*\bvllm\.v1\.engine\.utils\b",
            rf"^{CHOOSER} is imported by name in .*\bvllm\.v1\.executor\.multiproc_executor\b",
            r"^general plugins are loaded in .*\bvllm\.engine\.arg_utils\b.*\bvllm\.v1\.engine\.core\b",
            r"^general plugins are loaded in .*\bvllm\.\S*worker_base\b",
            r"^a group of plugins is loaded in .*\bvllm\.platforms\b",
        )
    return transcript


def _read(package: Path) -> list[str]:
    defined, imported = [], []
    loaded: dict[str, list[str]] = {kind: [] for kind in HOOKS}
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in (CHOOSER, *HOOKS.values())):
            continue
        module = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name == CHOOSER:
                defined.append(module)
            elif isinstance(node, ast.ImportFrom) and CHOOSER in {alias.name for alias in node.names}:
                imported.append(module)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                for kind, function in HOOKS.items():
                    if node.func.id == function and module not in (*loaded[kind], "vllm.plugins"):
                        loaded[kind].append(module)
    return [
        f"{CHOOSER} is defined in {', '.join(defined)}",
        f"{CHOOSER} is imported by name in {', '.join(imported)}",
        *(
            f"{kind} plugins {'are' if kind == 'general' else 'is'} loaded in {', '.join(modules)}"
            for kind, modules in loaded.items()
        ),
    ]


if __name__ == "__main__":
    sys.exit(main("vllm_versions", run))
