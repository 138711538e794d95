"""A secret in any shape is in nothing that is written, and ordinary text stays as it is."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldfork.observe.recording import redaction
from coldfork.observe.recording.redaction import LONGEST, REDACTED

pytestmark = pytest.mark.once

#: Commands with one secret each; words are divided by `|`.
COMMANDS = """
curl|-H|Authorization: Bearer SECRET|https://example.org
curl|-H|authorization: Basic SECRET
curl|-H|X-Api-Key: SECRET
curl|-H|Cookie: session=SECRET; theme=dark
curl|-u|admin:SECRET|https://example.org
curl|-uadmin:SECRET|https://example.org
curl|--user|admin:SECRET
curl|https://user:SECRET@example.org/models
git|clone|https://SECRET@example.org/x.git
curl|https://example.org/x?a=1&access_token=SECRET&b=2
azcopy|copy|https://a.blob.core.windows.net/c?sv=2022-11-02&sig=SECRET&se=2026
serve|--token|SECRET
serve|--api-key=SECRET
serve|--hf-token|SECRET
serve|--db|Server=db;Uid=me;Pwd=SECRET;
serve|--dsn-of|app:SECRET@tcp(db:3306)/notes
mysql|-uroot|-pSECRET|notes
/usr/bin/mysqldump|-pSECRET
sshpass|-p|SECRET|ssh|host
redis-cli|-a|SECRET|ping
docker|login|-u|me|-p|SECRET
sh|-c|mysql -u root -pSECRET notes
sh|-c|curl -H 'Authorization: Bearer SECRET' x
sh|-c|serve --password SECRET --port 80
sh|-c|PGPASSWORD=SECRET psql
sh|-c|export GITHUB_TOKEN="SECRET"; run
sh|-c|echo 'machine example.org login me password SECRET' > ~/.netrc
redis-cli|config|set|requirepass|SECRET
psql|-c|ALTER USER me WITH PASSWORD 'SECRET'
mysql|-e|CREATE USER me IDENTIFIED BY 'SECRET'
junos|set password SECRET
python|-c|os.environ["API_KEY"] = "SECRET"
python|-c|login(token='SECRET')
python|-c|{"auth": {"api_key": "SECRET"}}
python|-c|client = Client(password = f"SECRET")
""".strip().splitlines()
#: Variables whose names say nothing.
VARIABLES = """
--password SECRET --port 8000
machine example.org login me password SECRET
set password SECRET
postgres://me:SECRET@db/notes
Server=db;Pwd=SECRET
{"token": "SECRET"}
Authorization: Bearer SECRET
""".strip().splitlines()


def letters(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=9))


def mixed(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_letters + string.digits, k=14))


def signs(chance: random.Random) -> str:
    return "pA5!" + "".join(chance.choices(string.ascii_letters + string.digits + "!%+*^~._-", k=8)) + "x"


MAKERS: list[Callable[[random.Random], str]] = [letters, mixed, signs]


def hides(written: str, secret: str) -> bool:
    return secret not in written and secret[:6] not in written and REDACTED in written


@pytest.mark.must_hold
@pytest.mark.parametrize("line", COMMANDS)
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32), before=st.lists(st.sampled_from(["-v", "run", "--port", "8080"]), max_size=3)
)
def test_a_secret_in_a_command_is_not_written(line: str, seed: int, before: list[str]) -> None:
    for make in MAKERS:
        secret = make(random.Random(seed))
        words = line.replace("SECRET", secret).split("|")
        for command in (words, [words[0], *before, *words[1:]] if words[0] in ("serve", "curl") else words):
            written = "\0".join(redaction.command(command))
            assert hides(written, secret), written


@pytest.mark.must_hold
@pytest.mark.parametrize("value", VARIABLES)
@given(seed=st.integers(0, 2**32))
def test_a_secret_in_a_neutral_variable_is_not_written(value: str, seed: int) -> None:
    for make in MAKERS:
        secret = make(random.Random(seed))
        planted = value.replace("SECRET", secret)
        assert hides(redaction.environment({"RAY_ARGS": planted})["RAY_ARGS"], secret)
        assert hides(redaction.text(f"failed: {planted}"), secret)


@pytest.mark.must_hold
@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "VLLM_API_KEY",
        "RAY_REDIS_PASSWORD",
        "NCCL_AUTH",
        "TORCH_ACCESSKEY",
        "MYSQL_PWD",
        "VLLM_API_KEYS",
    ],
)
def test_a_variable_of_a_secret_name_is_not_written(name: str) -> None:
    assert redaction.value_of(name, "hunter") == REDACTED


@pytest.mark.must_hold
@given(seed=st.integers(0, 2**32))
def test_keys_are_known_by_their_marks_alone(seed: int) -> None:
    chance = random.Random(seed)
    body = "".join(chance.choices(string.ascii_letters, k=34))
    block = base64.b64encode(chance.randbytes(48)).decode()
    for secret in (f"hf_{body}", f"ghp_{body}", f"sk-proj-{body}", f"npm_{body}", f"AKIA{body[:16].upper()}"):
        for words in (
            [secret],
            ["-c", f"x={secret}"],
            ["sh", "-c", f"login {secret}; true"],
            [f"a,{secret}"],
        ):
            assert secret[-8:] not in "".join(redaction.command(words))
    key = f"-----BEGIN PRIVATE KEY-----\n{block}\n-----END PRIVATE KEY-----"
    assert block not in redaction.text(key)
    assert block[:20] not in redaction.text(key[:60])


@pytest.mark.must_hold
@pytest.mark.parametrize("place", range(LONGEST - 30, LONGEST + 2, 3))
def test_a_secret_across_the_cut_leaves_no_half(place: int) -> None:
    words = ["x" * place + " --password correcthorsebattery"]
    assert "correct" not in redaction.command(words)[0]


#: Real command lines: nothing in them is secret.
ORDINARY = r"""
python -m vllm.entrypoints.openai.api_server --model meta-llama/Llama-3.1-8B-Instruct
vllm serve Qwen/Qwen3-30B-A3B-Instruct-2507-FP8 --tokenizer-mode auto --max-num-batched-tokens 8192
torchrun --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=host-1:29400 train.py --lr 3e-4 --seed 42
python train.py --max_tokens 4096 --tokenizer hf-internal-testing/llama-tokenizer --keep-going --author me
python -c import hf_hub_download; print(hf_transfer)
accelerate launch --config_file /etc/accelerate/config.yaml --main_process_port 29501 run.py
docker run -u 1000:1000 -p 8080:80 --rm -v /data:/data:ro nvcr.io/nvidia/pytorch:25.01-py3
rsync -u host:/srv/data/a.bin /var/a.bin
git -c user.name=me commit -m fix the tokenizer and the password prompt --author someone
ls -l /proc/self/fd
python -c for key, value in d.items(): print(key, value, sep=':')
python -c sorted(xs, key=len, reverse=True)
python -c def f(token: str, password: str = None) -> bool: return True
pytest tests/test_tokens.py::test_key_order -k monkey -p no:cacheprovider --maxfail=1
gcc -pthread -pipe -O2 -o out main.c
find . -path ./x -prune -o -name *.py -print
ffmpeg -i in.mp4 -preset slow -pix_fmt yuv420p out.mkv
python -m torch.distributed.run --nnodes=1 --rdzv_id=job-12 run.py
ray start --head --port=6379 --num-gpus=2 --dashboard-host 0.0.0.0
python -m http.server --bind 127.0.0.1 8000
ssh -o StrictHostKeyChecking=no git@github.com
scp git@host:repo/file .
docker pull ubuntu:24.04@sha256:aaaa
python -m pip install torch==2.8.0 --index-url https://download.pytorch.org/whl/cu128
nvidia-smi --query-gpu=name,memory.used --format=csv
sh -c true; echo token count: 5
bash -lc cd /srv/app && exec gunicorn app:main -k uvicorn.workers.UvicornWorker -w 4 -b 0.0.0.0:8000
celery -A tasks worker -P solo --loglevel=info
streamlit run app.py --server.port 8501
python -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5) --multiprocessing-fork
""".strip().splitlines()
MOST_FALSE = 0


def test_ordinary_commands_stay_as_they_are() -> None:
    wrong = [line for line in ORDINARY if redaction.command(line.split(" ")) != line.split(" ")]
    wrong += [line for line in ORDINARY if redaction.text(line) != line]
    assert len(wrong) <= MOST_FALSE, wrong


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENIZERS_PARALLELISM", "false"),
        ("PWD", "/srv/app"),
        ("OMP_NUM_THREADS", "8"),
        ("LD_LIBRARY_PATH", "/usr/local/cuda/lib64:/opt/x/lib"),
        ("VLLM_MAX_TOKENS", "4096"),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:128"),
        ("CUDA_VISIBLE_DEVICES", "GPU-5d1c,MIG-2"),
    ],
)
def test_ordinary_variables_stay_as_they_are(name: str, value: str) -> None:
    assert redaction.value_of(name, value) == value


@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(redaction.text(text), str)
    assert len(redaction.command([text, text])) == 2
