"""Remove secrets from commands and environments before they are written down."""

from __future__ import annotations

from coldfork.observe.secrets.names import is_secret
from coldfork.observe.secrets.texts import hidden, secret_spans
from coldfork.observe.secrets.words import in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from coldfork.observe.secrets.words import Span

__all__ = ["REDACTED", "command", "environment", "is_secret", "text", "value_of"]

REDACTED = "<redacted>"

#: Variables that decide what accelerators do, and so belong in a recording.
PREFIXES = (
    "ACCELERATE_", "CUBLAS_", "CUDA_", "CUDNN_", "FLASHINFER_", "GPU_", "HIP_", "HSA_", "JAX_", "KMP_",
    "MKL_", "MULTIPROCESSING_", "NCCL_", "NUMBA_", "NUMEXPR_", "NVIDIA_", "OCL_", "OMP_", "ONEAPI_",
    "OPENBLAS_", "PJRT_", "POCL_", "POLARS_", "PYOPENCL_", "PYTHON", "PYTORCH_", "RAY_", "RAYON_", "ROCM_",
    "ROCR_", "SYCL_", "TF_", "TOKENIZERS_", "TORCH", "TPU_", "TRITON_", "TRTLLM_", "UR_", "VLLM_", "XLA_",
    "ZE_",
)  # fmt: skip
NAMES = frozenset({"LD_LIBRARY_PATH", "LD_PRELOAD", "LOCAL_RANK", "RANK", "WORLD_SIZE", "VIRTUAL_ENV"})

LONGEST = 400
MOST_ARGUMENTS = 100
_LONGEST_READ = 10 * LONGEST


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that matter to accelerators, without secrets."""
    return {
        name: value_of(name, variables[name])
        for name in sorted(variables)
        if name in NAMES or name.startswith(PREFIXES)
    }


def command(arguments: Iterable[object]) -> list[str]:
    """Return a command line without secrets: values of secret options, credentials, random values."""
    words: list[str] = []
    cut = False
    for argument in arguments:
        if len(words) == MOST_ARGUMENTS:
            cut = True
            break
        words.append(_text(argument))
    hidden_in_words = in_words(words)
    written = [
        _shortened(word, [*secret_spans(word[:_LONGEST_READ]), *([] if span is None else [span])])
        for word, span in zip(words, hidden_in_words, strict=True)
    ]
    return [*written, "..."] if cut else written


def value_of(name: str, value: str) -> str:
    """Return a variable's value in a form that may be written down."""
    if is_secret(name, value):
        return REDACTED
    return _shortened(value, secret_spans(value[:_LONGEST_READ]))


def text(said: str) -> str:
    """Return a text in a form that may be written down, without credentials, keys and random words."""
    return hidden(said, secret_spans(said), REDACTED)


def _text(argument: object) -> str:
    if isinstance(argument, bytes):
        return argument.decode("utf-8", "backslashreplace")
    return str(argument)


def _shortened(said: str, spans: list[Span]) -> str:
    """Remove secrets from a text before shortening it, because a cut could leave half a secret."""
    clear = hidden(said[:_LONGEST_READ], spans, REDACTED)
    return clear if len(clear) <= LONGEST and len(said) <= _LONGEST_READ else clear[:LONGEST] + "..."
