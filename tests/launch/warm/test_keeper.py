"""The keeper: nobody else's, nothing twice, and gone when nobody needs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.plumbing import channel
from coldfork.launch.server.warm import attachment, control, protocol
from coldfork.model.errors import UsageError
from tests.launch.scripting import SECONDS, SOURCE, alive, until, variables
from tests.launch.warm.conftest import WarmBench

pytestmark = pytest.mark.once

NOBODY = 65534
root = pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")


@pytest.mark.must_hold
def test_what_it_lies_in_is_the_users_alone(bench: WarmBench, runtime: Path) -> None:
    bench.prepare()
    modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in (runtime / "coldfork").iterdir()}
    assert modes == {protocol.SOCKET_FILE: 0o600, protocol.LOCK_FILE: 0o600, protocol.LOG_FILE: 0o600}
    assert stat.S_IMODE((runtime / "coldfork").stat().st_mode) == 0o700


def test_a_folder_that_others_can_enter_is_refused(bench: WarmBench, runtime: Path) -> None:
    (runtime / "coldfork").mkdir()
    (runtime / "coldfork").chmod(0o755)  # whatever the umask
    with pytest.raises(UsageError, match="accessible to other users"):
        bench.prepare()
    assert "accessible to other users" in bench.cold()
    (runtime / "coldfork").chmod(0o700)


@root
def test_another_user_is_not_served(bench: WarmBench, runtime: Path) -> None:
    bench.prepare()
    # Let them come as far as the socket, which they could not by themselves.
    for path in (runtime, runtime / "coldfork"):
        path.chmod(0o755)
    (runtime / "coldfork" / protocol.SOCKET_FILE).chmod(0o777)
    code = f"""
import json, os, socket
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
made.connect({str(runtime / "coldfork" / protocol.SOCKET_FILE)!r})
try:
    made.send(json.dumps({{"is": "status", "version": {protocol.PRESENT}}}).encode())
    print(made.recv(65536))
except ConnectionError:
    print(b"")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    assert done.stdout == "b''\n"
    (runtime / "coldfork").chmod(0o700)
    assert control.status().keeper is not None


@root
def test_a_keeper_of_another_user_is_not_asked(bench: WarmBench, runtime: Path) -> None:
    folder = runtime / "coldfork"
    folder.mkdir(mode=0o700)
    code = f"""
import os, socket, sys
made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
made.bind({str(folder / protocol.SOCKET_FILE)!r})
os.setgid({NOBODY}); os.setuid({NOBODY})
made.listen()
print("listening", flush=True)
sys.stdin.read()
"""
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "listening\n"
    try:
        assert f"belongs to user {NOBODY}" in bench.cold("print('ran')")
    finally:
        other.communicate("")


@pytest.mark.must_hold
def test_a_start_that_was_given_up_is_not_done_twice(
    bench: WarmBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = bench.prepare()
    ran = tmp_path / "ran"
    os.kill(server.pid, signal.SIGSTOP)
    with monkeypatch.context() as impatient:
        impatient.setattr(attachment, "PATIENCE", 0.2)
        why = bench.cold(f"print('ran', file=open({str(ran)!r}, 'a'))")
    assert "answered within 0.2 s" in why
    os.kill(server.pid, signal.SIGCONT)
    # What was asked for in vain has been gone through when the next has been started and has ended.
    assert bench.warm("print(1)").stdout == "1\n"
    below = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    until(lambda: below.read_text(encoding="ascii") == "", "the end of every supervisor")
    assert ran.read_text() == "ran\n"


def test_scripts_go_on_when_the_keeper_is_stopped(bench: WarmBench, tmp_path: Path) -> None:
    import threading

    bench.prepare()
    go_on = tmp_path / "go-on"
    begun = tmp_path / "begun"
    text = f"""
        import os, time
        open({str(begun)!r}, "w").close()
        while not os.path.exists({str(go_on)!r}): time.sleep(0.01)
        print("to the end")
        """
    results = []
    thread = threading.Thread(target=lambda: results.append(bench.warm(text)))
    thread.start()
    until(begun.exists, "the script's beginning")
    keeper = control.status().keeper
    assert keeper is not None
    assert control.stop() == 1
    until(lambda: not alive(keeper), "the keeper's end")
    go_on.touch()
    thread.join()
    assert results[0].stdout == "to the end\n"


def test_it_ends_when_nobody_asks_for_long(bench: WarmBench) -> None:
    server = bench.prepare(idle=0.2)
    until(lambda: not alive(server.pid), "the server's end")
    until(lambda: control.status().keeper is None, "the keeper's end")


def test_who_speaks_another_version_meets_a_new_keeper(bench: WarmBench) -> None:
    bench.prepare()
    connection = attachment.existing()
    assert connection is not None
    with connection:
        channel.send(connection, {"is": "status", "version": protocol.PRESENT + 1})
        received = channel.receive(connection)
    assert received is not None
    assert received[0]["is"] == "again"
    until(lambda: control.status().keeper is None, "the keeper's end")


@pytest.mark.parametrize(
    "nonsense", [b"{}", b"[]", b"no JSON", b'{"is": "start", "version": 1}', b"\xff" * 60_000]
)
def test_nonsense_does_not_end_it(bench: WarmBench, nonsense: bytes) -> None:
    bench.prepare()
    keeper = control.status().keeper
    connection = attachment.existing()
    assert connection is not None
    with connection:
        connection.send(nonsense)
        connection.settimeout(SECONDS)
        connection.recv(65_536)
    assert control.status().keeper == keeper
    assert bench.warm("print(1)").stdout == "1\n"


def test_two_clients_start_one_keeper(bench: WarmBench, runtime: Path) -> None:
    script = bench.write("pass")
    command = [sys.executable, "-m", "coldfork", "exec", "--warm", "json", str(script)]
    clients = [
        subprocess.Popen(command, env=variables(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for client in clients:
        client.communicate(timeout=SECONDS)
        assert client.returncode == 0
    listening = str(runtime / "coldfork")
    keepers = [
        path
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"warm.keeper" in (found := _content(path)) and listening.encode() in found
    ]
    assert len(keepers) == 1


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_the_command_line_says_what_is_ready(bench: WarmBench) -> None:
    def coldfork(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "coldfork", *words]
        done = subprocess.run(
            command, env=variables(), capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == status, done.stderr
        return done

    assert coldfork("warm", "status").stdout.startswith("No warm server runs.")
    assert "json, decimal ready after" in coldfork("warm", "start", "json", "decimal").stdout
    told = coldfork("warm", "status").stdout
    assert "json, decimal  ready" in told
    script = bench.write("import sys; print('decimal' in sys.modules)")
    said = coldfork("exec", "--warm", "json,decimal", str(script))
    assert (said.stdout, said.stderr) == ("True\n", "")
    document = json.loads(coldfork("warm", "status", "--format", "json").stdout)
    _schema().validate(document)
    assert [(one["modules"], one["scripts"]) for one in document["servers"]] == [(["json", "decimal"], 1)]
    assert "not a module's dotted name" in coldfork("warm", "start", "not a name", status=2).stderr
    assert "cannot preload nowhere" in coldfork("warm", "start", "nowhere", status=2).stderr
    assert coldfork("warm", "stop").stdout == "Ended 1 server.\n"
    assert coldfork("warm", "stop").stdout == "No warm server was running.\n"
    assert (
        "this was a cold start: no server had json ready"
        in coldfork("exec", "--warm", "json", str(script)).stderr
    )


def _schema() -> Any:
    from importlib.resources import files

    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    text = files("coldfork.report").joinpath("schemas/warm.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def test_a_socket_is_no_way_in_for_more_than_was_asked(bench: WarmBench) -> None:
    """A request with too few descriptors is refused before anything is forked."""
    server = bench.prepare()
    connection = attachment.existing()
    assert connection is not None
    with connection:
        request = {"is": "start", "version": protocol.PRESENT, "mark": "x", "numbers": []}
        channel.send(connection, request, [0])
        received = channel.receive(connection)
    assert received is not None
    assert received[0]["is"] == "cold"
    assert alive(server.pid)
    assert isinstance(connection, socket.socket)


def test_a_keeper_of_another_version_gives_way_to_one_of_this(bench: WarmBench) -> None:
    copy = bench.folder / "copy" / "coldfork"
    shutil.copytree(SOURCE / "coldfork", copy, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    environment = {**os.environ, "PYTHONPATH": str(copy.parent)}

    def coldfork(*words: str) -> str:
        command = [sys.executable, "-m", "coldfork", "warm", *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=True
        )
        return done.stdout

    assert "json ready" in coldfork("start", "json")
    first = json.loads(coldfork("status", "--format", "json"))["keeper"]
    changed = copy / "launch" / "server" / "warm" / "protocol.py"
    changed.write_text(changed.read_text(encoding="utf-8") + "# of another version\n", encoding="utf-8")
    assert "json ready" in coldfork("start", "json")
    assert json.loads(coldfork("status", "--format", "json"))["keeper"] != first
    coldfork("stop")
