"""Let two engines share what they have read: `python -m sharing [--method spawn]`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

import coldfork
from sharing.blocks import TOKENS
from sharing.launch import EngineError, Shared, share
from sharing.worker import Setting

PREFIX = (
    "You answer questions about processes that use an accelerator. Say what happened, where, and why it "
    "matters; say what to do, and how sure you are. Never call something cold that is warm.\n\nQuestion: "
)
QUESTIONS = {"why": "Why did the worker die?", "who": "Who woke the device?"}


def main() -> int:
    """Start the engines, ask them, and say what came from memory."""
    options = _options()
    # Whatever this process has done to a device by now: no engine is forked from it that could not use one.
    coldfork.guard("strict")
    if options.awake:
        _touch_the_device(options.awake)
    prompts = {name: list((PREFIX + question).encode()) for name, question in QUESTIONS.items()}
    try:
        shared = share(
            prompts,
            options.tokens,
            options.method,
            setting=Setting(options.model, options.device),
            dies_at=options.crash,
        )
    except (EngineError, coldfork.UnsafeForkError) as error:
        print(error, file=sys.stderr)
        return 1
    if options.json is not None:
        options.json.write_text(json.dumps(asdict(shared)), encoding="utf-8")
    _show(shared, len(PREFIX))
    return int(any(answer.same is False for answer in shared.answers))


def _show(shared: Shared, prefix: int) -> None:
    print(f"{shared.because}\n")
    print(f"The prompts have {prefix} bytes in common, {prefix // TOKENS} blocks of {TOKENS}.\n")
    print(f"{'engine':8} {'prompt':6} {'from memory':>12} {'computed':>9} {'stored':>8}  same bits as alone")
    for answer in shared.answers:
        outcome = answer.outcome
        if outcome is None:
            print(f"{answer.engine:8} {answer.prompt:6} {answer.trouble}")
            continue
        same = {None: "", True: "yes", False: "NO"}[answer.same]
        loaded = f"{outcome.loaded // TOKENS} blocks"
        told = f"{loaded:>12} {outcome.computed:>9} {outcome.stored:>8}  {same}"
        print(f"{answer.engine:8} {answer.prompt:6} {told}".rstrip())


def _touch_the_device(name: str) -> None:
    """Wake the device, as a server may do before it starts its engines."""
    coldfork.virtual.install(name)
    import torch

    torch.cuda.is_available()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sharing", description=__doc__)
    parser.add_argument(
        "--method", choices=["spawn", "forkserver", "fork"], help="of starting; coldfork chooses without it"
    )
    parser.add_argument("--awake", metavar="NAME", help="wake a virtual device here first, for example h100")
    parser.add_argument(
        "--crash", metavar="BLOCK", type=int, help="kill the first engine in the middle of storing this block"
    )
    parser.add_argument("--tokens", type=int, default=40, help="how many bytes to decode")
    parser.add_argument("--device", default="cpu", help="where the engines compute")
    parser.add_argument("--model", type=Path, help="a models.pt of ../speculative_decoding")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write down all that is known, as JSON")
    options = parser.parse_args()
    if options.model is not None and not options.model.exists():
        parser.error(
            f"there is no {options.model}; `python -m speculate` in ../speculative_decoding makes one"
        )
    return options


if __name__ == "__main__":
    sys.exit(main())
