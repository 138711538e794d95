"""Whether what engines capture survives a replay, asked of their own code: `./dev integration engines`"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from integrations.environment import Ended
from integrations.transcript import Transcript, main
from published import sources
from published.errors import UnavailableError
from published.places import ROOT
from published.sources import Wanted

INTRODUCTION = """
`./dev integration engines` fetches the sources of versions of vLLM and SGLang and runs the Python of
theirs that captures CUDA graphs, and that builds what attention is given, on the CPU under
[virtual capture](../explanation/virtual-capture.md). No GPU takes part, and nothing of theirs is installed.

- Of vLLM: `CudaGraphManager`, `ModelCudaGraphManager` and the manager of a speculator's prefill, and
  `DeepseekSparseSWAMetadataBuilder`, whose metadata holds a plan that is empty until the first attention.
- Of SGLang: `FlashMLABackend`, whose plan lies in buffers that are filled before each replay.
- With the example of engines' graphs: `GPUModelRunner` of vLLM as far as it captures, with its buffers, and
  `DecodeCudaGraphRunner` of SGLang with its buffers and its backend.

Stand-ins are everything else that these modules import, and the compiled attention: vLLM's plans its work
when it meets an empty plan, SGLang's is given one, and here a plan is the running sum of the lengths. The
target's model has a layer of one kind and the draft's model a layer of another, each with a plan of its
own. A graph is captured with one batch and replayed on another.
"""
WRONG = r"WRONG: \[1, 3, 6, 10\], not \[7, 12, 14, 23\]$"
SILENT = r"^clean: "
PLAN = r"attn_metadata\['layer'\]\.tile_sched_c4a\.have_initialized: False -> True, shared with capture$"


IN_THEIR_PLACE = """
What a `GraphManager` does not take the place of, by the lines of theirs that do it themselves. The managers
of vLLM's drafts derive from `CudaGraphManager`, and the draft runners of SGLang ask for the same backend as
the decode runner: there the example serves too.
"""


class Theirs(NamedTuple):
    """A line of an engine's that stays as it is."""

    file: str
    text: str
    why: str


VLLM = (
    Theirs(
        "v1/worker/gpu/model_runner.py",
        "self.cudagraph_manager = ModelCudaGraphManager(",
        "names the class, and no setting gives another: whoever adopts one changes this line",
    ),
    Theirs(
        "compilation/cuda_graph.py",
        "with torch.cuda.graph(",
        "captures each piece that `torch.compile` cut, inside of the compiled code, when it is called first",
    ),
    Theirs(
        "compilation/breakable_cudagraph.py",
        "g.capture_begin(pool=self.pool)",
        "begins a graph anew after each operator that runs eagerly",
    ),
    Theirs(
        "v1/worker/gpu/ubatch_utils.py",
        "threads.append(thread)",
        "starts the threads of two microbatches before the capture, where a virtual capture does not see "
        "them: threads of `Microbatches` in their place are parked, and seen",
    ),
    Theirs(
        "v1/worker/encoder_cudagraph.py",
        "torch.cuda.graph(graph, pool=self.graph_pool",
        "graphs of encoders, with a manager of their own",
    ),
    Theirs(
        "models/deepseek_v41/nvidia/specialized_decode/runtime/metadata_graphs.py",
        "torch.cuda.graph(graph, pool)",
        "a graph that builds metadata, captured by the state of one model",
    ),
)
SGLANG = (
    Theirs(
        "runner/decode_cuda_graph_runner.py",
        "forward_metadata_out_graph(forward_batch, in_capture=True)",
        "makes the metadata once for the warm-ups and the capture of a batch: nothing is made anew for the "
        "capture, and what a warm-up leaves in it has to be reset by `on_after_cuda_graph_warmup`",
    ),
    Theirs(
        "runner_backend/utils.py",
        "if backend_name == Backend.BREAKABLE:",
        "breakable graphs, the default for prefill, are taken before a platform is asked for its backend",
    ),
    Theirs(
        "runner_backend/breakable_cuda_graph_backend.py",
        "BreakableCUDAGraphCapture(",
        "begins a graph anew after each part that runs eagerly",
    ),
    Theirs("runner/row_bucket_graph_runner.py", "BreakableCUDAGraphCapture(", "the same without a backend"),
    Theirs(
        "runner/metadata_glue_graph.py",
        "with torch.cuda.graph(",
        "a graph that prepares metadata, captured while it serves",
    ),
)


def run() -> Transcript:
    """Ask each version."""
    if find_spec("torch") is None:
        raise UnavailableError("torch is not installed here; ./dev test installs it on Python 3.11")
    transcript = Transcript("What engines capture", INTRODUCTION)
    transcript.step(
        "vLLM 0.21.0: warm-up and capture share the metadata of the target "
        "([#42444](https://github.com/vllm-project/vllm/pull/42444)).",
        _asked("vllm", "0.21.0"),
        rf"^ModelCudaGraphManager, the target: {WRONG}",
    )
    transcript.step(
        "vLLM 0.22.0: the target captures with metadata of its own, and the draft's prefill warms up and "
        "captures with one and the same ([#44253](https://github.com/vllm-project/vllm/pull/44253)). The "
        "check names the flag, and the line that set it.",
        _asked("vllm", "0.22.0"),
        r"^ModelCudaGraphManager, the target: right$",
        rf"^PrefillEagleCudaGraphManager, the draft's prefill: {WRONG}",
        PLAN,
    )
    for version in ("0.23.0", "0.33.0"):
        transcript.step(
            f"vLLM {version}: both are mended.",
            _asked("vllm", version),
            r"^ModelCudaGraphManager, the target: right$",
            r"SpeculatorCudaGraphManager, the draft's prefill: right$",
            SILENT,
        )
    transcript.step(
        "vLLM 0.33.0 with the example of engines' graphs (`examples/engine_graphs`): its "
        "runner captures through coldfork's manager, and replays steps that no capture has seen. In a test "
        "of its own loop, `assert_replayable` passes.",
        _asked("vllm", "0.33.0", "engine_graphs_vllm"),
        r"^graphs in the pool of vLLM: 2$",
        r"^3 tokens in the graph of 4: right$",
        r"^graphs in the pool of vLLM, with the draft's: 4$",
        r"^4 tokens of the draft: right$",
        r"^replayable: FULL tokens=4 requests=4, FULL tokens=2 requests=2$",
    )
    transcript.step(
        "The same test, where `forward_fn = create_forward_fn(desc, warmup=False)` is taken out of that "
        "loop.",
        _asked("vllm", "0.33.0", "engine_graphs_vllm", "broken"),
        r"^not replayable: FULL tokens=4 requests=4: a replay would not do what an eager run does$",
        r"tile_sched_swaonly\.have_initialized: False -> True, shared with capture$",
        r"left there by \./integrations/programs/engines_vllm\.py:80 in attention$",
    )
    transcript.step(
        "SGLang 0.5.21: the plan lies in the backend's buffers. Had its runner captured with the metadata of "
        "the eager path, the graph would read memory that was given back.",
        _asked("sglang", "0.5.21"),
        r"as SGLang captures: right$",
        r"as nobody should: WRONG: ",
        SILENT,
    )
    transcript.step(
        "SGLang 0.5.23 with the example: its decode runner takes the backend from a platform, captures "
        'through coldfork\'s manager with `check="error"`, and decodes steps that no capture has seen.',
        _asked("sglang", "0.5.23", "engine_graphs_sglang"),
        r"^graphs in the pool of SGLang: 2$",
        r"^3 requests in the graph of 4: right$",
    )
    transcript.step(
        "The same where attention makes its metadata on first use, which is in a warm-up.",
        _asked("sglang", "0.5.23", "engine_graphs_sglang", "lazy"),
        r"^FULL tokens=4: a replay would not do what an eager run does$",
        r"left there by \./integrations/programs/engine_graphs_sglang\.py:\d+ in planned$",
    )
    transcript.step(
        "And where the hook after each warm-up (`on_after_cuda_graph_warmup`) lets it forget it again.",
        _asked("sglang", "0.5.23", "engine_graphs_sglang", "reset"),
        r"^3 requests in the graph of 4: right$",
    )
    transcript.promise(IN_THEIR_PLACE.strip(), True)
    for package, version, folder, stays in (
        ("vllm", "0.33.0", "vllm", VLLM),
        ("sglang", "0.5.23", "sglang/srt/model_executor", SGLANG),
    ):
        root = sources.obtain(Wanted(package, version)) / folder
        lines = [(_line(root / one.file, one.text), one) for one in stays]
        listed = (f"- `{folder}/{one.file}:{number}`: {one.why}" for number, one in lines)
        transcript.promise("\n".join((f"{package} {version}:\n", *listed)), all(dict(lines)))
    return transcript


def _line(file: Path, text: str) -> int:
    """The first line of a file with a text; 0 where there is none."""
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    return next((number for number, line in lines if text in line), 0)


def _asked(package: str, version: str, program: str = "", *more: str) -> Ended:
    """Run the program for a package on one of its versions."""
    folder = sources.obtain(Wanted(package, version))
    script = ROOT / "integrations" / "programs" / f"{program or f'engines_{package}'}.py"
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    ended = subprocess.run(
        [sys.executable, script, folder, *more],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    output = ended.stdout + ended.stderr
    for place, name in ((folder, folder.name), (ROOT, "."), (Path(sys.prefix), "<python>")):
        output = output.replace(str(place), name)
    return Ended(ended.returncode, output)


if __name__ == "__main__":
    sys.exit(main("engines", run))
