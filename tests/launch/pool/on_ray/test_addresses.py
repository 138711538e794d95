"""The address of a cluster: it is asked before Ray waits for it in silence."""

from __future__ import annotations

import logging
import socket
import threading

import pytest

from coldfork.launch.pool.errors import PoolError
from coldfork.launch.pool.on_ray.cluster import await_answer

LONG = 60.0


@pytest.fixture
def port() -> int:
    """A port of this machine at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_an_address_at_which_nobody_listens_is_told(port: int, form: str) -> None:
    address = form.format(port)
    with pytest.raises(PoolError) as failed:
        await_answer(address, 0.5)
    assert str(failed.value) == f"no cluster of Ray answers at RAY_ADDRESS={address}: Connection refused"


@pytest.mark.parametrize("address", ["", "auto", "local", "ray://", "host:port", "[:1"])
def test_what_names_no_host_and_port_is_left_to_ray(address: str) -> None:
    await_answer(address, 0.0)


def test_a_cluster_that_begins_meanwhile_is_waited_for(port: int, caplog: pytest.LogCaptureFixture) -> None:
    listening = socket.socket()
    asked = threading.Event()

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            asked.set()

    handler = Heard()
    logging.getLogger("coldfork").addHandler(handler)

    def begin() -> None:
        asked.wait(LONG)
        listening.bind(("127.0.0.1", port))
        listening.listen()

    thread = threading.Thread(target=begin)
    thread.start()
    try:
        await_answer(f"127.0.0.1:{port}", LONG)
    finally:
        logging.getLogger("coldfork").removeHandler(handler)
        thread.join()
        listening.close()
    assert [record.getMessage() for record in caplog.records] == [
        f"RAY_ADDRESS=127.0.0.1:{port} does not answer yet (Connection refused); waiting 60 s more"
    ]
