"""Takes secrets out of commands and environments before they are written down."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REDACTED = "<redacted>"

#: A name that holds one of these words holds a secret.
SECRET_WORDS = (
    "APIKEY",
    "AUTH",
    "BEARER",
    "CERT",
    "COOKIE",
    "CREDENTIAL",
    "DSN",
    "KEY",
    "LICENSE",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PRIVATE",
    "SECRET",
    "SESSION",
    "SIGNATURE",
    "TOKEN",
)
#: Short words, which count only as a whole part of a name: `PWD` is a folder, `DB_PASS` is not.
SECRET_PARTS = frozenset({"PASS", "PAT", "PIN", "PW", "SALT"})
#: Names that hold a secret word and no secret.
HARMLESS = frozenset({"TOKENIZERS_PARALLELISM", "TOKENIZERS", "TOKENIZER", "MAX_TOKENS", "MAX_NEW_TOKENS"})

#: Variables that decide what accelerators do, and so belong into a recording.
PREFIXES = (
    "ACCELERATE_",
    "CUBLAS_",
    "CUDA_",
    "CUDNN_",
    "FLASHINFER_",
    "GPU_",
    "HIP_",
    "HSA_",
    "JAX_",
    "KMP_",
    "MKL_",
    "MULTIPROCESSING_",
    "NCCL_",
    "NUMBA_",
    "NUMEXPR_",
    "NVIDIA_",
    "OCL_",
    "OMP_",
    "ONEAPI_",
    "OPENBLAS_",
    "PJRT_",
    "POCL_",
    "POLARS_",
    "PYOPENCL_",
    "PYTHON",
    "PYTORCH_",
    "RAY_",
    "RAYON_",
    "ROCM_",
    "ROCR_",
    "SYCL_",
    "TF_",
    "TOKENIZERS_",
    "TORCH",
    "TPU_",
    "TRITON_",
    "TRTLLM_",
    "UR_",
    "VLLM_",
    "XLA_",
    "ZE_",
)
NAMES = frozenset({"LD_LIBRARY_PATH", "LD_PRELOAD", "LOCAL_RANK", "RANK", "WORLD_SIZE", "VIRTUAL_ENV"})

LONGEST = 400
MOST_ARGUMENTS = 100

_RANDOM_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_-")
_SHORTEST_RANDOM = 20


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that matter to accelerators, their secrets taken out."""
    return {
        name: value_of(name, variables[name])
        for name in sorted(variables)
        if name in NAMES or name.startswith(PREFIXES)
    }


def command(arguments: Iterable[object]) -> list[str]:
    """A command line, its secrets taken out: what a secret option is given, credentials, random values."""
    written: list[str] = []
    hide_next = False
    for argument in arguments:
        if len(written) == MOST_ARGUMENTS:
            written.append("...")
            break
        said = _text(argument)
        option = said.startswith("-")
        if hide_next and not option:
            written.append(REDACTED)
            hide_next = False
            continue
        equals = "=" in said
        hide_next = option and not equals and is_secret(said)
        written.append(_words(said))
    return written


def value_of(name: str, value: str) -> str:
    """A variable's value as it may be written down."""
    if is_secret(name):
        return REDACTED
    return _words(value)


def text(said: str) -> str:
    """Any text as it may be written down: without credentials in URLs and without random words."""
    return " ".join("\n".join(_word(part) for part in piece.split("\n")) for piece in said.split(" "))


def is_secret(name: str) -> bool:
    """True for a name, an option or a key after which a secret stands."""
    plain = name.strip("-").upper().replace("-", "_")
    if plain in HARMLESS:
        return False
    if any(word in plain for word in SECRET_WORDS):
        return True
    return not SECRET_PARTS.isdisjoint(plain.split("_"))


def _text(argument: object) -> str:
    if isinstance(argument, bytes):
        return argument.decode("utf-8", "backslashreplace")
    return str(argument)


def _words(said: str) -> str:
    """Redact word by word, so that code given with `-c` stays readable; spaces stay as they are."""
    return text(said if len(said) <= LONGEST else said[:LONGEST] + "...")


def _word(word: str) -> str:
    name, equals, _ = word.partition("=")
    if equals and name and is_secret(_last_name(name)):
        return f"{name}={REDACTED}"
    if "://" in word:
        word = _without_credentials(word)
    return ":".join(_piece(piece) for piece in word.split(":"))


def _last_name(text: str) -> str:
    """The identifier that ends a text: in `os.environ["API_KEY"` it is API_KEY."""
    kept = text.rstrip("\"'] )")
    start = len(kept)
    while start and (kept[start - 1].isalnum() or kept[start - 1] in "_-"):
        start -= 1
    return kept[start:]


def _piece(piece: str) -> str:
    name, equals, value = piece.partition("=")
    if equals and _is_random(value.strip("\"'(),;")):
        return f"{name}={REDACTED}"
    bare = piece.strip("\"'(),;[]{}")
    return piece.replace(bare, REDACTED) if _is_random(bare) else piece


def _without_credentials(word: str) -> str:
    """A URL without what stands before its `@` and in the secret fields of its query."""
    scheme, _, rest = word.partition("://")
    host, slash, path = rest.partition("/")
    _, at, place = host.rpartition("@")
    if at:
        host = f"{REDACTED}@{place}"
    path, question, query = path.partition("?")
    if question:
        fields = [field.partition("=") for field in query.split("&")]
        query = "&".join(f"{n}{e}{REDACTED if is_secret(n) or _is_random(v) else v}" for n, e, v in fields)
    return f"{scheme}://{host}{slash}{path}{question}{query}"


def _is_random(value: str) -> bool:
    """True for what looks drawn at random: long, one piece, and letters and digits thoroughly mixed."""
    if (
        len(value) < _SHORTEST_RANDOM
        or not _RANDOM_ALPHABET.issuperset(value)
        or value.startswith(("/", "-"))
    ):
        return False
    # Folders are paths, not secrets, unless they are one long piece.
    if any(len(part) < _SHORTEST_RANDOM for part in value.rstrip("=").split("/")) and value.count("/") > 1:
        return False
    digits = sum(character.isdigit() for character in value)
    turns = sum(one.isdigit() != two.isdigit() for one, two in zip(value, value[1:], strict=False))  # noqa: RUF007
    mixed_case = any(c.islower() for c in value) and any(c.isupper() for c in value)
    few_joints = value.count("_") + value.count("-") < 3
    return (turns >= 5 and digits >= 3) or (mixed_case and turns >= 3 and few_joints)
