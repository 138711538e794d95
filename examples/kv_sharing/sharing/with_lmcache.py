"""The same with vLLM and LMCache: two engines on two GPUs, and LMCache's server between them.

Nothing of this project's tests has run it: it needs two GPUs, a model, vLLM and LMCache. It was written from
LMCache 0.4.5 and vLLM 0.33.0 (`examples/disaggregated/lmcache/kv_cache_sharing_lmcache_v1.py`).
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import coldfork

PORT = 8100
#: Read when LMCache and vLLM are imported, so they are set before an engine is started.
SETTINGS = {
    "LMCACHE_CHUNK_SIZE": "256",
    "LMCACHE_LOCAL_CPU": "False",
    "LMCACHE_MAX_LOCAL_CPU_SIZE": "5.0",
    "LMCACHE_REMOTE_URL": f"lm://localhost:{PORT}",
    "LMCACHE_REMOTE_SERDE": "naive",
    # Engines that are not forked from one process hash differently, and would never find each other's chunks.
    "PYTHONHASHSEED": "0",
}
PROMPTS = ["Hello, how are you?" * 1000]


def main() -> int:
    """Start the server and both engines; the second begins when the first has stored what it read."""
    options = _options()
    devices = _devices()
    coldfork.guard("strict")
    os.environ.update(SETTINGS)
    context: Any = coldfork.get_context(options.method, apply_env=True)
    stored = context.Event()
    with _server():
        engines = [
            context.Process(target=engine, args=(device, options.model, stored), kwargs={"first": first})
            for device, first in zip(devices, (True, False), strict=True)
        ]
        for one in engines:
            one.start()
        for one in engines:
            one.join()
    return max(abs(int(one.exitcode or 0)) for one in engines)


def engine(device: str, model: str, stored: Any, *, first: bool) -> None:
    """One engine process; vLLM is imported here and nowhere else."""
    os.environ["CUDA_VISIBLE_DEVICES"] = device
    from lmcache.integration.vllm.utils import ENGINE_NAME
    from lmcache.v1.cache_engine import LMCacheEngineBuilder
    from vllm import LLM, SamplingParams
    from vllm.config import KVTransferConfig

    try:
        llm = LLM(
            model=model,
            kv_transfer_config=KVTransferConfig(kv_connector="LMCacheConnectorV1", kv_role="kv_both"),
            max_model_len=8000,
            gpu_memory_utilization=0.8,
            enforce_eager=True,
        )
        if not first:
            stored.wait()
        sampling = SamplingParams(temperature=0, max_tokens=10)
        for output in llm.generate(PROMPTS, sampling):
            print(f"{'first' if first else 'second'}: {output.outputs[0].text!r}")
    finally:
        # Also if it failed: the other engine waits for it.
        stored.set()
        LMCacheEngineBuilder.destroy(ENGINE_NAME)


@contextmanager
def _server() -> Iterator[None]:
    """LMCache's server, from when it answers until it is ended."""
    server = subprocess.Popen([sys.executable, "-m", "lmcache.v1.server", "localhost", str(PORT)])
    try:
        while not _answers():
            if server.poll() is not None:
                raise SystemExit(f"LMCache's server ended with {server.returncode}")
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait()


def _answers() -> bool:
    try:
        socket.create_connection(("localhost", PORT), timeout=1).close()
    except OSError:
        return False
    return True


def _devices() -> list[str]:
    """The first two of those that this process may see."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "0,1").split(",")
    if len(seen) < 2:
        raise SystemExit("two GPUs are needed, and CUDA_VISIBLE_DEVICES shows fewer")
    return seen[:2]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sharing.with_lmcache", description=__doc__)
    parser.add_argument("--method", choices=["spawn", "forkserver"], default="spawn")
    parser.add_argument("--model", default="mistralai/Mistral-7B-Instruct-v0.2")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
