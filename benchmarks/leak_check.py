"""The time and memory that the leak check takes: 50 sizes of a toy transformer with a cache of a gigabyte."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import Any

from published.errors import UnavailableError

LAYERS, WIDTH, BLOCK = 24, 64, 16
SIZES = 50
CACHE = 1 << 30
MOST_SECONDS, MOST_BYTES, MOST_SECONDS_ALONE = 60.0, 2 << 30, 5.0


class Model:
    """Layers of paged attention; each keeps keys and values in a cache of its own, as engines have it."""

    def __init__(self, torch: Any, tokens: int, cache: int) -> None:
        self.torch = torch
        torch.manual_seed(0)
        blocks = cache // (LAYERS * 2 * BLOCK * WIDTH * 4)
        self.weights = [torch.randn(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(LAYERS)]
        self.caches = [torch.zeros(2, blocks * BLOCK, WIDTH) for _ in range(LAYERS)]
        self.hidden = torch.zeros(tokens, WIDTH)
        self.slots = torch.arange(tokens)
        self.lengths = torch.ones(tokens, dtype=torch.int32)

    def inputs(self) -> dict[str, Any]:
        """Return the inputs of a step."""
        return {"hidden": self.hidden, "slots": self.slots, "lengths": self.lengths}

    def create(self, descriptor: Any, phase: Any) -> Any:
        """A forward function over the first tokens."""
        return (lambda mode: self.forward(descriptor.tokens)), None

    def forward(self, tokens: int) -> Any:
        """Write keys and values to the slots, and attend to what lies there."""
        torch, x = self.torch, self.hidden[:tokens]
        slots, scale = self.slots[:tokens], self.lengths[:tokens, None].float()
        for weight, cache in zip(self.weights, self.caches, strict=True):
            y = x @ weight
            cache[0].index_copy_(0, slots, y)
            cache[1].index_copy_(0, slots, y * 0.5)
            scores = (y @ cache[0].index_select(0, slots).T / WIDTH**0.5).softmax(-1)
            x = torch.nn.functional.layer_norm(x + scores @ cache[1].index_select(0, slots) / scale, (WIDTH,))
        return x


def run(sizes: int, cache: int, *, checked: bool) -> None:
    """Capture and replay all sizes, with a check or without one; for a process of its own."""
    import torch

    from coldfork.graphs import BatchDescriptor, GraphManager, Mode

    torch.set_num_threads(2)
    model = Model(torch, 8 * sizes, cache)
    manager = GraphManager("cpu", check="error" if checked else "off", persistent=model.caches)
    descriptors = [BatchDescriptor(Mode.FULL, 8 * (number + 1)) for number in range(sizes)]
    started = time.perf_counter()
    manager.capture(model.create, descriptors, inputs=lambda one: model.inputs(), progress=False)
    for descriptor in descriptors:
        manager.replay(descriptor)
    seconds = time.perf_counter() - started
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    print(f"{seconds:.2f}", max(resource.getrusage(one).ru_maxrss for one in who))


def measured(sizes: int, cache: int, *, checked: bool) -> tuple[float, int]:
    """The seconds of one run, and the bytes that the largest of its processes held."""
    words = ["--inside", "--sizes", str(sizes), "--cache", str(cache), *(["--checked"] if checked else [])]
    command = [sys.executable, "-m", "benchmarks.leak_check", *words]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if said.returncode:
        raise UnavailableError(said.stderr.strip()[-400:])
    seconds, kilobytes = said.stdout.split()
    return float(seconds), int(kilobytes) << 10


def main(arguments: list[str] | None = None) -> int:
    """Compare checked captures with plain ones; 1 when the check takes more than it may."""
    parser = argparse.ArgumentParser(prog="./dev bench leak_check", description=__doc__)
    parser.add_argument("--sizes", type=int, default=SIZES, help="how many batch sizes (%(default)s)")
    parser.add_argument("--cache", type=int, default=CACHE, help="bytes of all caches (%(default)s)")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--checked", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.inside:
        run(options.sizes, options.cache, checked=options.checked)
        return 0
    if find_spec("torch") is None:
        raise UnavailableError("torch is not installed here")
    good = True
    for sizes, limit in ((1, MOST_SECONDS_ALONE), (options.sizes, MOST_SECONDS)):
        plain, _ = measured(sizes, options.cache, checked=False)
        checked, held = measured(sizes, options.cache, checked=True)
        within = checked <= limit and held <= MOST_BYTES
        good = good and within
        print(
            f"{sizes:3} sizes: {checked:6.1f} s checked, {plain:6.1f} s captured and replayed alone "
            f"({checked / plain:.1f} times), {held >> 20} MiB in the largest process; "
            f"{'within' if within else 'OVER'} {limit:.0f} s and {MOST_BYTES >> 20} MiB"
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
