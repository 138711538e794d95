"""The packages of `./dev bench confirm`: those of docs/measurements/ that import without a GPU."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks import mount
from published import sources, vllm
from published.environment import VirtualEnvironment
from published.sources import Wanted

TORCH = "torch==2.13.0+cpu"
CUDA_BUILDS = ("torchvision", "torchaudio", "torchcodec")
"""Nothing can import these beside a torch that was built for CPUs."""

POPULAR = VirtualEnvironment(
    "confirm-popular",
    (
        TORCH,
        "transformers==5.23.0",
        "diffusers==0.42.1",
        "accelerate==1.15.0",
        "datasets==5.2.0",
        "peft==0.21.2",
        "sentence-transformers==6.2.0",
        "scikit-learn==1.9.1",
        "pandas==3.1.1",
        "jax==0.10.2",
        "flax==0.12.8",
        "keras==3.15.1",
        "lightning==2.6.6",
        "torchmetrics==1.9.0",
        "timm==1.0.31",
        "gradio==6.31.0",
        "celery==5.7.0",
        "ultralytics==8.4.190",
        "numba==0.68.1",
        "trl==1.16.0",
        "bitsandbytes==0.50.2",
        "triton==3.9.0",
        "pytest==9.2.0",
        *("einops==0.8.2", "hjson==3.1.0", "ninja==1.13.2", "py-cpuinfo==9.0.0"),  # deepspeed's
    ),
    unwanted=CUDA_BUILDS,
)
"""The twenty widely used packages together, with a torch that has no device."""

BESIDE_VLLM = VirtualEnvironment(
    "confirm-vllm",
    (
        *vllm.REQUIREMENTS,
        "triton==3.9.0",
        "flashinfer-python==0.6.8",
        "nvidia-cutlass-dsl==4.5.0",
        "quack-kernels==0.4.0",
    ),
    unwanted=CUDA_BUILDS,
)
"""What vLLM 0.11.0 imports, and the packages that lay beside it when its findings were read.

nvidia-cutlass-dsl chooses cuda-bindings: 13.5.0, whose sources were read, cannot be installed with it.
"""

BESIDE_VLLM_033 = VirtualEnvironment(
    "confirm-vllm-0.33.0",
    (
        *(name for name in BESIDE_VLLM.requirements if not name.startswith("transformers")),
        "transformers==5.23.0",
        *("compressed-tensors", "llguidance", "loguru", "openai-harmony", "partial-json-parser", "uvloop"),
        "xgrammar",
    ),
    unwanted=CUDA_BUILDS,
)
"""The same for vLLM 0.33.0, which wants newer companions."""

COMPILED_033 = (
    *("_C", "_C_stable_libtorch", "_moe_C", "_moe_C_stable_libtorch", "_flashmla_C", "_flashmla_extension_C"),
    *("_deepselect_C", "_flashkda_C", "_qutlass_C", "cumem_allocator"),
    *("vllm_flash_attn/_vllm_fa2_C", "vllm_flash_attn/_vllm_fa3_C"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One package to check and to import."""

    name: str
    top: str
    environment: VirtualEnvironment
    sources: Wanted | None = None
    """Where its Python files come from; None means that the environment has it installed."""
    compiled: tuple[str, ...] = ()
    """Compiled modules that the sources lack; each is given as an empty Python file."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables for the imports, without which a condition of the findings cannot hold."""

    def prepare(self) -> Path:
        """The package to check, where an import in the environment finds it."""
        self.environment.prepare()
        if self.sources is None:
            return self.environment.packages / self.top
        package = mount.package_root(sources.obtain(self.sources), self.top) / self.top
        return self._with_compiled(package) if self.compiled else package

    def _with_compiled(self, package: Path) -> Path:
        target = self.environment.folder / "sources" / self.top
        if not target.exists():
            shutil.copytree(package, target)
            vllm.stand_in(target, self.compiled)
        self._describe(target.parent)
        return target

    def _describe(self, folder: Path) -> None:
        """Say of a package from sources what its installation would: some ask for their own version."""
        if self.sources is None:
            return
        name, version = self.sources.name, self.sources.version
        described = folder / f"{name}-{version}.dist-info"
        described.mkdir(exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (described / "METADATA").write_text(text, encoding="utf-8")


def _popular(name: str, top: str = "", **variables: str) -> Row:
    return Row(name, top or name, POPULAR, variables=tuple(variables.items()))


ROWS = (
    Row("vllm 0.11.0", "vllm", BESIDE_VLLM, vllm.VLLM, vllm.COMPILED),
    # An hour: 133 findings, and every import of vLLM takes its time.
    Row("vllm 0.33.0", "vllm", BESIDE_VLLM_033, Wanted("vllm", "0.33.0"), COMPILED_033),
    _popular("bitsandbytes"),
    _popular("accelerate"),
    _popular("peft"),
    _popular("timm"),
    _popular("numba"),
    _popular("trl"),
    _popular("diffusers"),
    _popular("sentence-transformers", "sentence_transformers"),
    _popular("torchmetrics"),
    _popular("datasets"),
    _popular("lightning"),
    _popular("celery"),
    _popular("gradio"),
    _popular("ultralytics"),
    _popular("flax"),
    _popular("jax"),
    _popular("pandas"),
    # Without it keras wants TensorFlow, and nothing of it can be imported.
    _popular("keras", KERAS_BACKEND="torch"),
    _popular("scikit-learn", "sklearn"),
    _popular("transformers"),
    Row("accelerate 0.22.0", "accelerate", POPULAR, Wanted("accelerate", "0.22.0")),
    Row("deepspeed 0.16.4", "deepspeed", POPULAR, Wanted("deepspeed", "0.16.4")),
    Row("torch-scatter 2.1.2", "torch_scatter", POPULAR, Wanted("torch-scatter", "2.1.2")),
    Row("xformers 0.0.28", "xformers", POPULAR, Wanted("xformers", "0.0.28")),
)
