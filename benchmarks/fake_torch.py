"""Builds a package that woke the driver again: vLLM 0.22.0 with its kernel package's re-exports put back.

The re-exporting `__init__` was never in a release. It sat on the main branch between 0.21.0, which lacks the
package, and 0.22.0, whose `__init__` is empty on purpose. Importing any sibling below the package runs it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from published.errors import UnavailableError
from published.sources import Wanted

BASE = Wanted("vllm", "0.22.0")
INIT = "vllm/models/deepseek_v4/nvidia/ops/__init__.py"
BESIDE = (Wanted("nvidia-cutlass-dsl-libs-base", "4.5.0", "wheel"), Wanted("quack-kernels", "0.4.0"))
#: What the package offered, by the module that defines it.
REEXPORTS = {
    "dequant_gather_k_cutedsl": ("dequantize_and_gather_k_cache_cutedsl",),
    "fused_indexer_q_cutedsl": (
        "fused_indexer_q_rope_quant_fp8_cutedsl",
        "fused_indexer_q_rope_quant_mxfp4_cutedsl",
    ),
    "prepare_megamoe": ("prepare_megamoe_inputs",),
    "sparse_attn_compress_cutedsl": ("compress_norm_rope_store_cutedsl",),
}


def build(base: Path, target: Path) -> Path:
    """Copy vLLM's package from `base` to `target` and put the re-exports back; the copy's package folder."""
    package = target / "vllm"
    shutil.copytree(base / "vllm", package)
    init = target / INIT
    if not init.is_file():
        raise UnavailableError(f"{base.name} has no {INIT}; the stand-in is made from vLLM {BASE.version}")
    init.write_text(reexporting(), encoding="utf-8")
    return package


def reexporting() -> str:
    """An `__init__` that imports every kernel module at once."""
    lines = ['"""Kernels for one vendor, offered in one place."""', ""]
    for module, names in REEXPORTS.items():
        lines.append(f"from .{module} import {names[0]}" if len(names) == 1 else f"from .{module} import (")
        if len(names) > 1:
            lines += [f"    {name}," for name in names] + [")"]
    offered = sorted(name for names in REEXPORTS.values() for name in names)
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in offered), "]"]
    return "\n".join(lines) + "\n"
