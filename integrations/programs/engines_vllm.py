"""vLLM's own managers of graphs, on the CPU under virtual capture: `engines_vllm.py FOLDER`.

FOLDER holds the sources of a version. Theirs: `CudaGraphManager` with what is derived from it for the
prefill of a speculator, the builder of the metadata of DeepSeek V4's sliding windows with what that derives
from, and `CUDAGraphMode`. Stand-ins: everything else that these import, and the compiled attention, which
plans its work the first time that it is given an empty plan.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from coldfork.graphs import BatchDescriptor, Mode, Phase, Report, check
from integrations.programs.stand_ins import (
    CAPTURED,
    REPLAYED,
    REQUESTS,
    StandIns,
    capturing,
    stand_in,
    verdict,
)

MANAGER = "vllm.v1.worker.gpu.cudagraph_utils"
BUILDER = "vllm.v1.attention.backends.mla.sparse_swa"
THEIRS = (
    MANAGER,
    BUILDER,
    "vllm.v1.attention.backend",
    "vllm.v1.attention.backends.utils",
    "vllm.utils.math_utils",
)
DRAFTS = {
    "vllm.v1.worker.gpu.spec_decode.target_dependent_ar.cudagraph_utils": "SpeculatorCudaGraphManager",
}
PREFILLS = {
    "vllm.v1.worker.gpu.spec_decode.eagle.cudagraph": "PrefillEagleCudaGraphManager",
    "vllm.v1.worker.gpu.spec_decode.autoregressive.cudagraph_utils": "PrefillSpeculatorCudaGraphManager",
}


def theirs(path: Path, name: str) -> Any:
    """One class of a module of theirs, without the rest of the module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[ast.stmt] = [
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name
    ]
    space: dict[str, Any] = {"enum": enum, "__name__": name}
    exec(compile(ast.Module(found, []), str(path), "exec"), space)
    return space[name]


# -- the compiled attention -----------------------------------------------------------------------------


class Plan:
    """FlashMLA's `FlashMLASchedMeta`: empty until the first call of the kernel plans into it."""

    def __init__(self) -> None:
        self.have_initialized = False
        self.tile_scheduler_metadata: torch.Tensor | None = None


def attention(hidden: torch.Tensor, lengths: torch.Tensor, plan: Plan) -> torch.Tensor:
    """As FlashMLA's `flash_mla_with_kvcache`: plans if the plan is empty, and computes with the plan."""
    if not plan.have_initialized:
        plan.have_initialized = True
        plan.tile_scheduler_metadata = torch.cumsum(lengths, 0)
    assert plan.tile_scheduler_metadata is not None
    return hidden + plan.tile_scheduler_metadata


class Context:
    """vLLM's forward context: what the model is to use."""

    metadata: Any = None


@contextlib.contextmanager
def forward_context(metadata: Any, *_: object, **__: object) -> Iterator[None]:
    before, Context.metadata = Context.metadata, metadata
    yield
    Context.metadata = before


# -- an engine around them ------------------------------------------------------------------------------


def surroundings(sources: Path) -> dict[str, dict[str, Any]]:
    """Return the parts of the stand-ins that are used."""
    mode = theirs(sources / "vllm/config/compilation.py", "CUDAGraphMode")
    first = SimpleNamespace(is_first_rank=True, is_last_rank=True)
    offloader = SimpleNamespace(sync_prev_onload=lambda: None, join_after_forward=lambda: None)
    platform = SimpleNamespace(
        get_global_graph_pool=lambda: None,
        is_rocm=lambda: False,
        is_xpu=lambda: False,
        is_cuda=lambda: True,
        is_device_capability_family=lambda family: family == 90,
    )
    ignored: Any = lambda *_, **__: None  # noqa: E731
    kernel = type(
        "Kernel", (), {"__getitem__": lambda self, grid: ignored, "__call__": lambda self, *_: self}
    )()
    specs = {
        name: type(name, (SimpleNamespace,), {}) for name in ("MLAAttentionSpec", "SlidingWindowMLASpec")
    }
    return {
        "vllm.config.compilation": {"CUDAGraphMode": mode},
        "vllm.config": {
            "CUDAGraphMode": mode,
            "set_current_vllm_config": lambda *_: contextlib.nullcontext(),
        },
        "vllm.compilation.counter": {"compilation_counter": SimpleNamespace(num_cudagraph_captured=0)},
        "vllm.compilation.breakable_cudagraph": {"is_breakable_cudagraph_enabled": lambda: False},
        "vllm.compilation.cudagraph_pool": {"capture_pool": lambda pool, _: contextlib.nullcontext(pool)},
        "vllm.distributed.parallel_state": {
            "get_pp_group": lambda: first,
            "is_global_first_rank": lambda: False,
            "graph_capture": lambda device: contextlib.nullcontext(),
        },
        "vllm.forward_context": {"set_forward_context": forward_context},
        "vllm.logger": {"init_logger": logging.getLogger},
        "vllm.model_executor.offloader.base": {"get_offloader": lambda: offloader},
        "vllm.platforms": {"current_platform": platform},
        "vllm.transformers_utils.deepseek_v4_utils": {
            "get_compress_ratios": lambda config: config.compress_ratios
        },
        "vllm.triton_utils": {
            "triton": SimpleNamespace(
                jit=lambda _=None, **__: kernel, next_power_of_2=lambda n: 1 << (n - 1).bit_length()
            ),
            "tl": stand_in("tl"),
        },
        "vllm.utils.torch_utils": {"current_stream": lambda: None},
        "vllm.v1.attention.ops.flashmla": {
            "FlashMLASchedMeta": Plan,
            "get_mla_metadata": lambda: (Plan(), None),
        },
        "vllm.v1.attention.ops.metadata": {
            "compute_token_to_req_indices": lambda *_, **__: torch.arange(REQUESTS)
        },
        "vllm.v1.kv_cache_interface": specs,
        "vllm.v1.worker.gpu.attn_utils": {"build_slot_mappings_by_layer": lambda slots, _: {"layer": slots}},
        "vllm.v1.worker.gpu.input_batch": {
            "InputBatch": SimpleNamespace(make_dummy=lambda *_, **__: SimpleNamespace(seq_lens=None))
        },
    }


class Engine:
    """A batch whose lengths change, and a model that attends with the metadata of its context."""

    def __init__(self, module: Callable[[str], Any]) -> None:
        self.module = module
        self.lengths = torch.tensor(CAPTURED, dtype=torch.int32)
        self.hidden = torch.zeros(REQUESTS, dtype=torch.int32)
        self.drafted = torch.zeros(REQUESTS, dtype=torch.int64)
        self.mode = module("vllm.config.compilation").CUDAGraphMode
        self.device = torch.device("cpu")
        self.config = SimpleNamespace(
            scheduler_config=SimpleNamespace(max_num_seqs=REQUESTS, max_num_batched_tokens=16),
            compilation_config=SimpleNamespace(
                cudagraph_capture_sizes=[REQUESTS],
                max_cudagraph_capture_size=REQUESTS,
                adjust_cudagraph_sizes_for_spec_decode=lambda *_: None,
            ),
            parallel_config=SimpleNamespace(data_parallel_size=1, tensor_parallel_size=1),
            speculative_config=None,
            num_speculative_tokens=1,
            cache_config=SimpleNamespace(use_kda_recoverssm=False),
            model_config=SimpleNamespace(
                max_model_len=16, hf_config=SimpleNamespace(sliding_window=4, compress_ratios=[1, 4])
            ),
        )
        spec = module("vllm.v1.kv_cache_interface").SlidingWindowMLASpec(
            head_size=8, compress_ratio=1, block_size=4, tokens_per_state=1
        )
        self.builder = module(BUILDER).DeepseekSparseSWAMetadataBuilder(
            spec, ["layer"], self.config, self.device
        )

    def manager(self, cls: Any) -> Any:
        """One of their managers, for full graphs of one size."""
        return cls(self.config, self.device, self.mode.FULL, 1)

    def build(self, *_: object, **__: object) -> dict[str, Any]:
        """Metadata as their builder makes it, over the buffers of the batch."""
        starts = torch.arange(REQUESTS + 1, dtype=torch.int32)
        common = self.module("vllm.v1.attention.backend").CommonAttentionMetadata(
            query_start_loc=starts,
            query_start_loc_cpu=starts,
            seq_lens=self.lengths,
            num_reqs=REQUESTS,
            num_actual_tokens=REQUESTS,
            max_query_len=1,
            max_seq_len=16,
            block_table_tensor=torch.zeros(REQUESTS, 4, dtype=torch.int32),
            slot_mapping=torch.arange(REQUESTS),
        )
        return {"layer": self.builder.build(0, common)}

    def target(self, **_: object) -> torch.Tensor:
        """The target's model: one layer, of sliding windows alone."""
        metadata = Context.metadata["layer"]
        return attention(self.hidden, metadata.seq_lens, metadata.tile_sched_swaonly)

    def draft(self, reqs: int, tokens: int, metadata: Any, *_: object, **__: object) -> None:
        """The draft's prefill: one layer of another kind, which plans for itself."""
        layer = metadata["layer"]
        self.drafted.copy_(attention(self.hidden, layer.seq_lens, layer.tile_sched_c4a))

    def around(self) -> tuple[Any, ...]:
        """Return what the managers build metadata with."""
        buffers = SimpleNamespace(
            input_ids=self.hidden,
            positions=torch.arange(REQUESTS),
            seq_lens=self.lengths,
            is_padding=torch.zeros(REQUESTS, dtype=torch.bool),
        )
        tables = SimpleNamespace(
            cp_size=1,
            get_dummy_block_tables=lambda _: (),
            get_dummy_slot_mappings=lambda _: torch.arange(REQUESTS),
        )
        state = SimpleNamespace(prepare_attn=self.build, prepare_dummy_inputs=lambda *_: {})
        return state, buffers, tables, [], SimpleNamespace()

    def capture_target(self) -> tuple[Any, Any]:
        """Let their manager capture the target; its manager, and the states that it leaves."""
        manager = self.manager(self.module(MANAGER).ModelCudaGraphManager)
        state, buffers, *others = self.around()
        return manager, manager.capture(self.target, state, buffers, None, *others)


class Draft:
    """The draft's prefill, and how one of their managers makes its forward function."""

    def __init__(self, engine: Engine, cls: Any, given: tuple[Any, ...]) -> None:
        self.engine = engine
        self.given = given
        self.manager = engine.manager(cls)

    def capture(self) -> None:
        """Let their manager capture it."""
        self.manager.capture(self.engine.draft, *self.given)

    def check(self, descriptor: Any) -> Report:
        """Ask coldfork's check what of a warm-up a capture of it would depend on."""
        base = import_module(MANAGER).CudaGraphManager
        captures, made = base.capture, []
        base.capture = lambda manager, create, *rest: made.append(create)
        self.capture()
        base.capture = captures
        (create,) = made
        takes_phase = "warmup" in inspect.signature(create).parameters

        def forward(_: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], None], Any]:
            theirs = create(descriptor, warmup=phase is Phase.WARMUP) if takes_phase else create(descriptor)
            run, state = theirs if isinstance(theirs, tuple) else (theirs, None)
            return (lambda _: run(self.engine.mode.NONE)), state

        return check(forward, [BatchDescriptor(Mode.FULL, REQUESTS)], inputs=[self.engine.lengths])


def main(folder: str) -> None:
    sources = Path(folder)
    torch.Tensor.pin_memory = lambda self, *_: self
    roots, parts = ("vllm", "triton", "transformers"), (*THEIRS, *PREFILLS, *DRAFTS)
    sys.meta_path.insert(0, StandIns(sources, roots, parts, surroundings(sources)))
    with capturing():
        engine, manager, states = captured_target()
        replay(engine, manager)
        print(f"ModelCudaGraphManager, the target: {verdict(manager.hidden_states[:REQUESTS])}")
        for name, cls in (PREFILLS | DRAFTS).items():
            if not (sources / Path(*name.split(".")).with_suffix(".py")).exists():
                continue
            draft = Draft(engine, getattr(import_module(name), cls), around(engine, name, states))
            draft.capture()
            replay(engine, draft.manager)
            print(f"{cls}, the draft's prefill: {verdict(engine.drafted)}")
            engine, manager, states = captured_target()
            draft = Draft(engine, getattr(import_module(name), cls), around(engine, name, states))
            print(f"coldfork.graphs.check of it:\n{draft.check(next(iter(manager.graphs)))}")


def captured_target() -> tuple[Engine, Any, Any]:
    """A new engine, with the manager that has captured its target, and the states that this left."""
    engine = Engine(import_module)
    return (engine, *engine.capture_target())


def around(engine: Engine, name: str, states: Any) -> tuple[Any, ...]:
    """Return what a manager of the draft is given: the target's states, or what it builds its own with."""
    return engine.around() if name in DRAFTS else (states,)


def replay(engine: Engine, manager: Any) -> None:
    """Run what was captured on a batch that the capture has not seen."""
    (descriptor,) = manager.graphs
    engine.lengths.copy_(torch.tensor(REPLAYED, dtype=torch.int32))
    manager.run_fullgraph(descriptor)
    engine.lengths.copy_(torch.tensor(CAPTURED, dtype=torch.int32))


if __name__ == "__main__":
    main(sys.argv[1])
