"""Post-processing of one transcript: punctuation, then a summary.

    post.py --engine NAME [--model FOLDER] [--device cuda] --result FILE < TRANSCRIPT

The server starts it with `coldfork.arun_script`; by hand it runs as well. The result is one JSON file,
which is either whole or not there.
"""  # noqa: INP001

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from speech_notes.engines import EngineError, make
from speech_notes.engines.devices import claim
from speech_notes.engines.processing import process

import coldfork


def main() -> int:
    """Read, work, write."""
    options = _options()
    transcript = sys.stdin.buffer.read().decode("utf-8")
    if options.device:
        claim(options.device)
    try:
        note = process(transcript, lambda: make(options.engine, options.model), coldfork.progress)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    unfinished = options.result.with_suffix(".part")
    unfinished.write_text(json.dumps(note), encoding="utf-8")
    os.replace(unfinished, options.result)  # noqa: PTH105
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="post.py", description=__doc__)
    parser.add_argument("--engine", default="embedded", help="embedded, vllm, or module:Class")
    parser.add_argument("--model", help="the folder of the engine's model")
    parser.add_argument("--device", choices=["cuda"], help="claim this device before the work")
    parser.add_argument("--result", type=Path, required=True, help="the file to write")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
