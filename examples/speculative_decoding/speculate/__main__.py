"""Decode a text with and without speculation, and compare: `python -m speculate [--method eagle]`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import coldfork
from speculate.engine import METHODS, MODELS, Config
from speculate.launch import WorkerError, decode
from speculate.text import decode as as_text
from speculate.text import encode

PROMPT = "A context belongs to the process that "


def main() -> int:
    """Run each method that was asked for, and hold it against plain decoding."""
    options = _options()
    if options.awake:
        coldfork.virtual.install(options.awake)
        _touch_the_device()
    config = Config(device=options.device, backend=options.backend, check=options.check, model=options.model)
    prompt = encode(options.prompt)
    try:
        # Held against the backend that is right, so that the broken one shows in plain decoding too.
        right = replace(config, method="none", backend="planned")
        plain, because = decode(right, prompt, options.tokens)
        print(f"{because}\n")
        print(f"{as_text(prompt + plain.tokens)}\n")
        print(f"{'method':8} {'accepted':>12} {'target passes':>14} {'graph replays':>14}  same text")
        different = False
        for method in ("none", *(options.method or METHODS[1:])):
            # Plain decoding comes first, and has had the graphs of the target checked.
            asked = replace(config, method=method, check_target=method == "none")
            outcome = plain if asked == right else decode(asked, prompt, options.tokens)[0]
            same = outcome.tokens == plain.tokens
            different = different or not same
            told = f"{outcome.accepted} of {outcome.proposed}"
            told = f"{method:8} {told:>12} {outcome.forwards:>14} {outcome.replays:>14}"
            print(f"{told}  {'yes' if same else 'NO'}")
    except WorkerError as error:
        print(error, file=sys.stderr)
        return 1
    return int(different)


def _touch_the_device() -> None:
    """Wake the device, as a server may do before it starts a worker."""
    import torch

    torch.cuda.is_available()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m speculate", description=__doc__)
    parser.add_argument("--method", action="append", choices=METHODS[1:], help="only this one; repeatable")
    parser.add_argument("--device", default="cpu", help="cuda, or cpu for virtual graphs (default)")
    parser.add_argument(
        "--backend", default="planned", choices=["planned", "remembered"], help="remembered is the broken one"
    )
    parser.add_argument("--check", default="error", choices=["error", "warn", "off"], help="of the captures")
    parser.add_argument("--awake", metavar="NAME", help="wake a virtual device here first, for example h100")
    parser.add_argument("--tokens", type=int, default=80, help="how many tokens to decode")
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument(
        "--model", type=Path, default=MODELS, help="where the trained models are kept (%(default)s)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
