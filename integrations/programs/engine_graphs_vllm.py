"""The example on the code of vLLM, on the CPU: `engine_graphs_vllm.py FOLDER [broken]`.

FOLDER holds the sources of vLLM 0.33.0. Theirs: `GPUModelRunner` as far as it captures, its managers of
graphs, its buffers, and the builder of metadata of `engines_vllm.py`; what else they import stands in. With
`broken`, the line that creates the forward function anew for the capture is taken out of their loop.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from coldfork.graphs import assert_replayable
from coldfork.virtual.capturing.memory import Pool
from integrations.programs.engines_vllm import (
    MANAGER,
    THEIRS,
    Context,
    Engine,
    attention,
    surroundings,
)
from integrations.programs.stand_ins import StandIns, capturing

RUNNER = "vllm.v1.worker.gpu.model_runner"
DRAFT = "vllm.v1.worker.gpu.spec_decode.target_dependent_ar.cudagraph_utils"
INPUTS = "vllm.v1.worker.gpu.input_batch"
MORE = (
    RUNNER,
    DRAFT,
    INPUTS,
    "vllm.compilation.counter",
    "vllm.compilation.cudagraph_pool",
    "vllm.utils.gc_utils",
)
ANEW = "                        forward_fn = create_forward_fn(desc, warmup=False)\n"
SIZES = (2, 4)
WIDTH = 8


class Model(nn.Module):
    """One layer of attention, between an embedding and the scores of the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(32, WIDTH)
        self.out = nn.Linear(WIDTH, 32)

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor, **_: object) -> torch.Tensor:
        metadata = Context.metadata["layer"]
        hidden = self.embed(input_ids) + positions[:, None]
        planned = attention(hidden.T, metadata.seq_lens, metadata.tile_sched_swaonly).T
        return self.out(planned)


class Served:
    """A runner of theirs with a small model, as far as it captures and replays."""

    def __init__(self, beneath: type) -> None:
        torch.manual_seed(0)
        theirs = import_module(MANAGER)
        engine = Engine(import_module)
        engine.config.use_cumem_cudagraph_pool = False
        engine.config.compilation_config.cudagraph_capture_sizes = list(SIZES)
        self.engine = engine
        self.buffers = import_module(INPUTS).InputBuffers(max(SIZES), 16, engine.device)
        self.inputs = {
            "input_ids": self.buffers.input_ids,
            "positions": self.buffers.positions,
            "seq_lens": self.buffers.seq_lens,
        }
        tables = SimpleNamespace(
            cp_size=1,
            get_dummy_block_tables=lambda _: (),
            get_dummy_slot_mappings=torch.arange,
        )
        state = SimpleNamespace(
            prepare_attn=self.build,
            prepare_dummy_inputs=lambda *_: {},
            supports_mm_inputs=False,
            capture_inner_cudagraphs=lambda *_: None,
        )
        runner = import_module(RUNNER).GPUModelRunner.__new__(import_module(RUNNER).GPUModelRunner)
        self.manager = type("Manager", (theirs.ModelCudaGraphManager, beneath), {})(
            engine.config, engine.device, engine.mode.FULL, 1
        )
        runner.__dict__.update(
            cudagraph_manager=self.manager,
            model=Model(),
            model_state=state,
            input_buffers=self.buffers,
            intermediate_tensors=None,
            block_tables=tables,
            attn_groups=[],
            kv_cache_config=SimpleNamespace(),
            pcp_manager=None,
            lora_config=None,
            use_aux_hidden_state_outputs=False,
            speculator=None,
            adaptive_verification=None,
            kv_connector=SimpleNamespace(reset_capture_state=lambda: None),
            maybe_setup_dummy_loras=lambda _: nullcontext(),
        )
        self.runner = runner

    def build(self, batch: Any, *_: object, **__: object) -> dict[str, Any]:
        """Metadata as their builder makes it, over the buffers of the batch."""
        common = import_module("vllm.v1.attention.backend").CommonAttentionMetadata(
            query_start_loc=batch.query_start_loc,
            query_start_loc_cpu=torch.from_numpy(batch.query_start_loc_np),
            seq_lens=batch.seq_lens,
            num_reqs=batch.num_reqs,
            num_actual_tokens=batch.num_tokens,
            max_query_len=1,
            max_seq_len=16,
            block_table_tensor=torch.zeros(batch.num_reqs, 4, dtype=torch.int32),
            slot_mapping=torch.arange(batch.num_tokens),
        )
        return {"layer": self.engine.builder.build(0, common)}

    def step(self, descriptor: Any, seed: int) -> None:
        """Fill the buffers as the scheduler does for one step."""
        chance = torch.Generator().manual_seed(seed)
        count = descriptor.tokens
        self.buffers.seq_lens[:count] = torch.randint(1, 16, (count,), generator=chance)
        self.buffers.positions[:count] = self.buffers.seq_lens[:count] - 1
        self.buffers.input_ids[:count] = torch.randint(0, 32, (count,), generator=chance)

    def eager(self, count: int) -> torch.Tensor:
        """Return the model's result for the step in the buffers."""
        batch = import_module(INPUTS).InputBatch
        held = {name: one.clone() for name, one in self.inputs.items()}
        made = batch.make_dummy(count, count, self.buffers)
        for name, one in held.items():
            self.inputs[name].copy_(one)
        Context.metadata = self.build(made)
        result: torch.Tensor = self.runner.model(
            self.buffers.input_ids[:count], self.buffers.positions[:count]
        )
        return result


def main(folder: str, broken: bool) -> None:
    sources = Path(folder)
    examples = Path(__file__).parents[2] / "examples" / "engine_graphs"
    sys.path.insert(0, str(examples))
    torch.Tensor.pin_memory = lambda self, *_: self
    torch.accelerator.empty_cache = lambda: None
    torch.accelerator.get_memory_info = lambda: (0, 0)
    known = surroundings(sources)
    for name in MORE:
        known.pop(name, None)
    platform = known["vllm.platforms"]["current_platform"]
    pool = Pool()
    platform.graph_pool_handle, platform.get_global_graph_pool = Pool, lambda: pool
    known["vllm.envs"] = {"VLLM_ENABLE_CUDAGRAPH_GC": False}
    with tempfile.TemporaryDirectory() as place:
        edited = {MANAGER: without_the_line(sources, Path(place))} if broken else {}
        theirs = (*THEIRS, *MORE)
        sys.meta_path.insert(0, StandIns(sources, ("vllm", "triton", "transformers"), theirs, known, edited))
        ours = import_module("beneath.vllm")
        check = import_module("beneath.loop_of_vllm")
        if not broken:
            served = Served(ours.Beneath)
            beneath(served)
            draft(served, ours.Beneath)
        in_ci(Served(check.Observed), check)


def without_the_line(sources: Path, place: Path) -> Path:
    """Their module, but for the line that creates the forward function anew."""
    text = sources.joinpath(*MANAGER.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    if text.count(ANEW) != 1:
        raise ValueError(f"{MANAGER} has not the one line {ANEW.strip()!r}")
    file = place / "cudagraph_utils.py"
    file.write_text(text.replace(ANEW, ""), encoding="utf-8")
    return file


def beneath(served: Served) -> None:
    """Capture with ours beneath theirs, and replay steps that no capture has seen."""
    with capturing():
        served.runner.capture_model()
        print(f"graphs in the pool of vLLM: {served.manager.pool.graphs}")
        for count in (4, 1, 2, 3):
            wanted = served.manager.dispatch(count, count, 1, 0)
            served.step(SimpleNamespace(tokens=wanted.num_tokens), seed=count)
            found = served.manager.run_fullgraph(wanted)
            right = torch.equal(found, served.eager(wanted.num_tokens))
            print(f"{count} tokens in the graph of {wanted.num_tokens}: {'right' if right else 'WRONG'}")


def draft(served: Served, ours: type) -> None:
    """Let the manager of a draft's capture beside the target, in the same pool."""
    engine, runner = served.engine, served.runner
    scores = torch.zeros(max(SIZES), 32)

    def forward(_: int, tokens: int, metadata: Any, *rest: object, **named: object) -> None:
        Context.metadata = metadata
        scores[:tokens] = runner.model(served.buffers.input_ids[:tokens], served.buffers.positions[:tokens])

    manager = type("Draft", (import_module(DRAFT).SpeculatorCudaGraphManager, ours), {})(
        engine.config, engine.device, engine.mode.FULL, 1
    )
    with capturing():
        manager.capture(
            forward, runner.model_state, served.buffers, runner.block_tables, [], runner.kv_cache_config
        )
        print(f"graphs in the pool of vLLM, with the draft's: {manager.pool.graphs}")
        for count in SIZES:
            served.step(SimpleNamespace(tokens=count), seed=10 + count)
            manager.run_fullgraph(manager.dispatch(count, count, 1, 0))
            found = scores[:count].clone()
            right = torch.equal(found, served.eager(count))
            print(f"{count} tokens of the draft: {'right' if right else 'WRONG'}")


def in_ci(served: Served, check: Any) -> None:
    """Check vLLM's own loop as a test in its CI would."""
    with capturing():
        served.runner.capture_model()
    create, sizes = check.as_captured(served.manager, served.runner.capture_model, served.inputs)
    inputs: Any = lambda one: served.inputs  # noqa: E731
    try:
        assert_replayable(create, sizes, inputs=inputs, prepare=served.step, grad_mode=torch.inference_mode)
    except AssertionError as error:
        print(error)
    else:
        print("replayable:", ", ".join(map(str, sizes)))


if __name__ == "__main__":
    main(sys.argv[1], "broken" in sys.argv[2:])
