"""vLLM 0.11.0 as it was published, and what it takes to import it without its compiled modules."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from published.sources import Wanted

VLLM = Wanted("vllm", "0.11.0", "wheel")
COMPILED = (
    "_C",
    "_moe_C",
    "_flashmla_C",
    "_flashmla_extension_C",
    "cumem_allocator",
    "vllm_flash_attn/_vllm_fa2_C",
    "vllm_flash_attn/_vllm_fa3_C",
)
"""The compiled modules of the wheel; each becomes an empty Python file."""

REQUIREMENTS = (
    "torch==2.13.0+cpu",
    "transformers==4.57.1",
    *("aiohttp", "blake3", "cachetools", "cbor2", "cloudpickle", "einops", "fastapi", "filelock", "gguf"),
    *("msgspec", "numpy", "openai", "pillow", "prometheus_client", "protobuf", "psutil", "py-cpuinfo"),
    *("pybase64", "pydantic", "python-json-logger", "pyyaml", "pyzmq", "regex", "requests", "scipy"),
    *("sentencepiece", "setproctitle", "tiktoken", "tqdm", "typing_extensions"),
)
"""What its Python files import."""


def stand_in(package: Path, compiled: Iterable[str] = COMPILED) -> None:
    """Put an empty Python file where each compiled module of a package would be."""
    for name in compiled:
        (package / f"{name}.py").write_text("", encoding="utf-8")
