"""Secrets do not stand in anything that is written about a run, whatever shape they have."""

from __future__ import annotations

import base64
import random
import string
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from coldfork.launch.script.call import run_script
from coldfork.launch.script.secret_search import secrets
from coldfork.launch.supervisor.report_file import Veil
from tests.launch.scripting import Bench, variables

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]

LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + "234567"
#: Raises with all it was given, as a script does that reports its own mistakes.
TELLING = """
import os, sys
raise RuntimeError("could not log in with %r and %r" % (sys.argv[1:], sorted(os.environ.items())))
"""


def word(chance: random.Random, length: int = 24, letters: str = LETTERS) -> str:
    return "".join(chance.choices(letters, k=length))


def plain(chance: random.Random) -> str:
    """A password that looks like nothing at all."""
    return "".join(chance.choices(string.ascii_lowercase, k=9))


#: Each plants one secret: it gets a random source and returns variables, arguments and what may not be found.
Shape = Callable[[random.Random], tuple[dict[str, str], list[str], str]]


def in_variable(name: str, make: Callable[[random.Random], str] = word) -> Shape:
    def shape(chance: random.Random) -> tuple[dict[str, str], list[str], str]:
        secret = make(chance)
        return {name: secret}, [], secret

    return shape


def in_text(
    template: str, make: Callable[[random.Random], str] = word, *, variable: str | None = None
) -> Shape:
    def shape(chance: random.Random) -> tuple[dict[str, str], list[str], str]:
        secret = make(chance)
        text = template.replace("SECRET", secret)
        return ({variable: text}, [], secret) if variable else ({}, text.split("|"), secret)

    return shape


def known_by_value(chance: random.Random) -> tuple[dict[str, str], list[str], str]:
    """An ordinary word under a secret name, which then stands by itself and inside of others."""
    secret = plain(chance)
    return {"DB_PASSWORD": secret}, [secret, f"x{secret}y", f"/data/{secret}/in"], secret


def with_quoted_value(chance: random.Random) -> tuple[dict[str, str], list[str], str]:
    secret = f"{plain(chance)}/{plain(chance)}+ &"
    return {"API_SECRET": secret}, [f"https://h/x?next={quote(secret, safe='')}"], quote(secret, safe="")


def of_many_lines(chance: random.Random) -> tuple[dict[str, str], list[str], str]:
    lines = [base64.b64encode(chance.randbytes(48)).decode() for _ in range(4)]
    key = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    return {"TLS_MATERIAL": key}, [], lines[2]


def token_of_three_parts(chance: random.Random) -> str:
    parts = [base64.urlsafe_b64encode(chance.randbytes(24)).decode().rstrip("=") for _ in range(2)]
    return f"eyJhbGciOiJIUzI1NiJ9.{parts[0]}.{parts[1]}"


SHAPES: dict[str, Shape] = {
    "api key": in_variable("SERVICE_API_KEY"),
    "hub token": in_variable("HF_TOKEN", lambda chance: f"hf_{word(chance, 34)}"),
    "password": in_variable("PGPASSWORD", plain),
    "mysql password": in_variable("MYSQL_PWD", plain),
    "cloud key": in_variable("AWS_SECRET_ACCESS_KEY", lambda chance: word(chance, 40, LETTERS + "/+")),
    "accelerator variable": in_variable("VLLM_API_KEY", plain),
    "private key": of_many_lines,
    "database address": in_text("postgres://user:SECRET@db.example/notes", plain, variable="NOTES_DB"),
    "cookie": in_variable("SESSION_COOKIE"),
    "known by value": known_by_value,
    "quoted in an address": with_quoted_value,
    "option and value": in_text("--api-key|SECRET", plain),
    "option with value": in_text("--password=SECRET", plain),
    "setting": in_text("database.password=SECRET", plain),
    "json": in_text('{"auth": {"api_key": "SECRET"}, "n": 1}', plain),
    "python text": in_text("{'token': 'SECRET'}", plain),
    "header": in_text("--header|Authorization: Bearer SECRET"),
    "basic header": in_text(
        "-H|Authorization: Basic SECRET",
        lambda chance: base64.b64encode(f"user:{plain(chance)}".encode()).decode(),
    ),
    "address with a password": in_text("https://user:SECRET@example.org/models", plain),
    "address with a token": in_text("https://SECRET@git.example.org/x.git", plain),
    "query": in_text("https://example.org/x?a=1&access_token=SECRET&b=2", plain),
    "fragment": in_text("https://example.org/x#id_token=SECRET", plain),
    "web hook": in_text("https://hooks.example.com/services/T0A1B2C3D/B0A1B2C3D/SECRET"),
    "bare service key": in_text("sk-SECRET", lambda chance: word(chance, 32)),
    "bare cloud id": in_text("AKIASECRET", lambda chance: word(chance, 16, UPPER)),
    "bare signed token": in_text("SECRET", token_of_three_parts),
    "bare hexadecimal": in_text("SECRET", lambda chance: word(chance, 40, "0123456789abcdef")),
    "cookie header": in_text("Cookie: session=SECRET; theme=dark", plain),
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def planted(seed: int) -> tuple[dict[str, str], list[str], dict[str, str]]:
    env: dict[str, str] = {}
    args: list[str] = []
    wanted: dict[str, str] = {}
    for number, (name, shape) in enumerate(SHAPES.items()):
        chance = random.Random(f"{seed}-{number}")
        more, words, secret = shape(chance)
        env |= more
        args += words
        wanted[name] = secret
    return env, args, wanted


def written(folder: Path) -> dict[str, str]:
    """All that coldfork itself has written; the script's own output is the script's."""
    return {
        str(path): path.read_text(encoding="utf-8", errors="backslashreplace")
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("stdout", "stderr")
    }


def found(texts: dict[str, str], wanted: dict[str, str]) -> list[str]:
    return [
        f"{name} ({secret}) in {place}: ...{text[max(0, text.find(secret) - 60) :][:160]}"
        for name, secret in wanted.items()
        for place, text in texts.items()
        if secret in text or secret in place
    ]


@pytest.mark.must_hold
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("inherited", [False, True])
def test_none_of_many_shapes_is_written(
    bench: Bench, seed: int, inherited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(SHAPES) >= 20
    env, args, wanted = planted(seed)
    if inherited:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
    result = bench.run(TELLING, *args, env=None if inherited else env)
    assert result.status == 1
    # The script has said them all, or this would show nothing.
    for name, secret in wanted.items():
        assert secret in result.stderr or "\n" in "".join(env.values()), name
    assert found(written(bench.folder / "runs"), wanted) == []
    assert result.exception is not None
    assert found({"exception": str(result.exception)}, wanted) == []


@pytest.mark.must_hold
def test_none_is_written_by_the_command_either(bench: Bench) -> None:
    env, args, wanted = planted(11)
    script = bench.write(TELLING)
    done = subprocess.run(
        [sys.executable, "-m", "coldfork", "exec", "--log-dir", bench.runs, "--", script, *args],
        env=variables(env),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert found(written(bench.runs), wanted) == []
    ours = [line for line in done.stderr.splitlines() if line.startswith("coldfork")]
    assert found(dict(enumerate(ours)), wanted) == []  # type: ignore[arg-type]


def test_no_command_line_of_ours_shows_what_the_environment_holds(bench: Bench) -> None:
    result = bench.run(
        """
        import os
        from pathlib import Path
        parent = Path(f"/proc/{os.getppid()}")
        print((parent / "cmdline").read_bytes() + (parent / "environ").read_bytes())
        """,
        env={"API_KEY": "correcthorsebattery"},
    )
    assert "launch.supervisor.main" in result.stdout
    assert "correcthorsebattery" not in result.stdout


def test_what_is_no_secret_stays_readable(bench: Bench) -> None:
    result = bench.run(
        "raise ValueError('expected 3 tokens at /data/run-7/input.json:12, got max_tokens=8')",
        "--max-tokens",
        "128",
        "--model",
        "meta-llama/Llama-3.1-8B-Instruct",
        env={"TOKENIZERS_PARALLELISM": "true", "CUDA_HOME": "/usr/local/cuda-12.4"},
    )
    report = result.report
    assert report["command"][2:] == ["--max-tokens", "128", "--model", "meta-llama/Llama-3.1-8B-Instruct"]
    assert report["environment"]["set"]["TOKENIZERS_PARALLELISM"] == "true"
    assert report["environment"]["set"]["CUDA_HOME"] == "/usr/local/cuda-12.4"
    assert report["exception"]["message"] == (
        "expected 3 tokens at /data/run-7/input.json:12, got max_tokens=8"
    )


def test_the_output_of_the_script_is_its_own(bench: Bench) -> None:
    result = run_script(
        bench.write("import os; print(os.environ['API_KEY'])"),
        log_dir=bench.runs,
        env={"API_KEY": "correcthorsebattery"},
    )
    assert (result.run_dir / "stdout").read_text(encoding="utf-8") == "correcthorsebattery\n"


def test_a_long_text_costs_no_more_than_reading_it() -> None:
    for text in ("x" * 200_000, "a=" * 60_000, "://" * 40_000, "user@" * 20_000, "-" * 100_000):
        assert isinstance(Veil(secrets({}, [text])).command([text]), list)
