"""The example on the code of SGLang, on the CPU: `engine_graphs_sglang.py FOLDER [lazy|reset]`.

FOLDER holds the sources of SGLang 0.5.23. Theirs: `DecodeCudaGraphRunner` with what it derives from, its
buffers, the backend that ours derives from, and `FlashMLABackend`; what else they import stands in. With
`lazy`, attention makes its metadata when the first forward function needs it, and the capture finds it made;
with `reset`, it forgets it after each warm-up, in the hook that SGLang has for that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from coldfork.virtual.capturing.memory import Pool
from integrations.programs.engines_sglang import BACKEND, OnHost
from integrations.programs.engines_sglang import surroundings as of_attention
from integrations.programs.stand_ins import REQUESTS, Off, StandIns, capturing

EXECUTOR = "sglang.srt.model_executor"
RUNNER = f"{EXECUTOR}.runner.decode_cuda_graph_runner"
BATCH = f"{EXECUTOR}.forward_batch_info"
THEIRS = (
    BACKEND,
    BATCH,
    RUNNER,
    "sglang.srt.layers.attention.base_attn_backend",
    "sglang.srt.layers.logits_processor",
    f"{EXECUTOR}.cuda_graph_buffer_registry",
    f"{EXECUTOR}.cuda_graph_config",
    f"{EXECUTOR}.forward_context",
    f"{EXECUTOR}.input_buffers",
    f"{EXECUTOR}.runner.base_cuda_graph_runner",
    f"{EXECUTOR}.runner.base_runner",
    f"{EXECUTOR}.runner.shape_key",
    f"{EXECUTOR}.runner_backend.base_cuda_graph_backend",
    f"{EXECUTOR}.runner_backend.full_cuda_graph_backend",
    f"{EXECUTOR}.runner_backend.utils",
    f"{EXECUTOR}.runner_utils.buffers",
    f"{EXECUTOR}.runner_utils.pool",
)
SIZES = (2, REQUESTS)
WIDTH = 8
OFF = Off()


def nothing(*_: object, **__: object) -> None:
    """Stand in for something that is missing."""


# -- the compiled attention, and a model around it ------------------------------------------------------


def planned(lengths: torch.Tensor, *_: object, **__: object) -> tuple[torch.Tensor, torch.Tensor]:
    """As FlashMLA's `get_mla_metadata`: the running sum of the lengths."""
    plan = torch.zeros(REQUESTS, 8, dtype=torch.int32)
    plan[: len(lengths), 0] = torch.cumsum(lengths, 0)
    return plan, torch.arange(len(lengths) + 1, dtype=torch.int32)


def attention(
    q: torch.Tensor, tile_scheduler_metadata: torch.Tensor, **_: object
) -> tuple[torch.Tensor, None]:
    """As FlashMLA's `flash_mla_with_kvcache`: computes with the plan that it is given."""
    return q.flatten(1)[:, :1] * 0 + tile_scheduler_metadata[: len(q), :1], None


class Model(nn.Module):
    """One layer of attention, between an embedding and the scores of the next token."""

    shared_experts_config = None
    layer = SimpleNamespace(layer_id=0, tp_q_head_num=1, head_dim=1, v_head_dim=1, scaling=1.0)

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(32, WIDTH)
        self.out = nn.Linear(WIDTH, 32)

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor, batch: Any) -> Any:
        hidden = self.embed(input_ids) + positions[:, None]
        attend = import_module(f"{EXECUTOR}.forward_context").get_attn_backend().forward_decode
        attended = attend(hidden[:, :1].contiguous(), None, None, self.layer, batch)
        output = import_module("sglang.srt.layers.logits_processor").LogitsProcessorOutput
        return output(next_token_logits=self.out(hidden + attended))


def lazily(attention_backend: Any) -> None:
    """Let attention make its metadata when it is needed, if there is none."""
    theirs = attention_backend.forward_decode

    def prepare(batch: Any, in_capture: bool = False) -> None:
        if in_capture:
            attention_backend.forward_metadata = None
        else:
            type(attention_backend).init_forward_metadata_out_graph(attention_backend, batch)

    def forward_decode(q: torch.Tensor, k: None, v: None, layer: Any, batch: Any) -> Any:
        if attention_backend.forward_metadata is None:
            # On the host they would be read there, and on the CPU all memory is the device's.
            attention_backend.init_forward_metadata(replace(batch, seq_lens_cpu=None))
        return theirs(q, k, v, layer, batch)

    attention_backend.init_forward_metadata_out_graph = prepare
    attention_backend.forward_decode = forward_decode


# -- an engine around them ------------------------------------------------------------------------------


def surroundings(backend: Callable[[], type]) -> dict[str, dict[str, Any]]:
    """Return the parts of the stand-ins that are used."""
    one = SimpleNamespace(
        num_dp_ranks=1, pp_size=1, attn_tp_size=1, attn_dcp_size=1, attn_dcp_rank=0, tp_rank=1,
        dcp_enabled=False, moe_ep_size=1, attn_dp_enabled=False, tp_group=SimpleNamespace(barrier=nothing),
    )  # fmt: skip
    execution: Any = Off()
    execution.graph = SimpleNamespace(
        cuda_graph_config=SimpleNamespace(decode=SimpleNamespace(bs=list(SIZES), backend="full")),
        disable_cuda_graph_padding=False,
        enable_profile_cuda_graph=False,
        enable_cudagraph_gc=False,
        debug_cuda_graph=False,
    )
    resources = SimpleNamespace(graph_memory_pool=None, graph_pool_borrow=None)
    off: Any = lambda *_, **__: OFF  # noqa: E731
    known = of_attention()
    known["sglang.srt.runtime_context"] |= {
        "get_exec": lambda: execution,
        "get_parallel": lambda: one,
        "get_resources": lambda: resources,
        "get_spec": lambda: SimpleNamespace(
            speculative_num_draft_tokens=0, speculative_num_steps=0, speculative_algorithm=None
        ),
        **dict.fromkeys(("get_disagg", "get_flags", "get_forward", "get_model", "get_stream"), off),
    }
    return known | {
        "sglang.kernels.ops.attention.flash_mla_interface": {
            "flash_mla_with_kvcache": attention,
            "get_mla_metadata": planned,
        },
        "sglang.kernels.ops.attention.kv_indices": known["sglang.kernels.ops.attention.utils"],
        "sglang.srt.batch_overlap.two_batch_overlap": {"TboCudaGraphRunnerPlugin": Off},
        "sglang.srt.compilation": {
            "torch_compile_decoration": SimpleNamespace(
                patch_model=lambda model, *_, **__: nullcontext(model.forward)
            )
        },
        "sglang.srt.distributed.parallel_state": {
            "graph_capture": lambda **_: nullcontext(SimpleNamespace(stream=None))
        },
        "sglang.srt.dllm.config": {"DllmConfig": SimpleNamespace(from_server_args=nothing)},
        "sglang.srt.environ": {"envs": OFF},
        "sglang.srt.layers.attention.graph_variants": dict.fromkeys(
            ("create_attention_graph_variants", "create_dsv41_candidate_graph_variants"), nothing
        ),
        "sglang.srt.layers.attention.dsa.utils": {"is_dsa_enable_prefill_cp": off},
        "sglang.srt.layers.dp_attention": {
            "DpPaddingMode": type("DpPaddingMode", (), {"get_default_mode_in_cuda_graph": off})
        },
        "sglang.srt.layers.cp.utils": {"is_mla_cp_enabled": off},
        f"{EXECUTOR}.runner_utils.deepep_adapter": {"DeepEPCudaGraphRunnerAdapter": Off},
        f"{EXECUTOR}.runner_utils.forked_metadata_prep": {"join_in_graph_metadata_prep": off},
        f"{EXECUTOR}.runner_utils.capture_mode": {
            "model_capture_mode": nullcontext,
            "capture_lora_variant": nullcontext,
            "get_capture_attention_variant": nothing,
        },
        "sglang.srt.utils": {
            "ceil_align": lambda number, step: -(-number // step) * step,
            "empty_context": nullcontext,
            "get_cuda_graph_batch_size_alignment": lambda **_: 1,
            **dict.fromkeys(("get_bool_env_var", "is_cuda", "is_npu", "is_hip", "is_xpu", "is_cpu"), off),
            **dict.fromkeys(("require_attn_tp_gather", "require_mlp_tp_gather"), off),
        },
        "sglang.srt.utils.common": {"is_npu": off, "is_pin_memory_available": off},
        "sglang.srt.utils.device_timer": {"device_timer_ctx": lambda *_: nullcontext()},
        "sglang.srt.utils.torch_memory_saver_adapter": {"TorchMemorySaverAdapter": OFF},
        "sglang.srt.platforms": {
            "current_platform": SimpleNamespace(
                is_out_of_tree=lambda: True, get_full_graph_backend_cls=backend
            )
        },
    }


def model_runner() -> Any:
    """Return the answers that a runner asks of SGLang's `ModelRunner`, with attention by FlashMLA."""
    runner: Any = Off()
    tokens = SimpleNamespace(size=REQUESTS, req_to_token=torch.zeros(REQUESTS, 256, dtype=torch.int32))
    config = SimpleNamespace(
        num_attention_heads=1, kv_lora_rank=1, qk_nope_head_dim=0, qk_rope_head_dim=0, v_head_dim=1,
        hidden_size=WIDTH, vocab_size=32, dtype=torch.float32, is_encoder_decoder=False,
        hf_config=SimpleNamespace(),
    )  # fmt: skip
    runner.__dict__.update(
        device="cpu",
        model=Model(),
        model_config=config,
        dtype=torch.float32,
        kv_cache_dtype=torch.float32,
        is_draft_worker=False,
        lora_manager=None,
        canary_manager=None,
        hisparse_coordinator=None,
        req_to_token_pool=tokens,
        token_to_kv_pool=SimpleNamespace(get_key_buffer=lambda _: torch.zeros(64, 1)),
        decode_num_tokens_per_req=lambda **_: 1,
        capture_head_hooks=(),
        capture_tail_hooks=(),
        graph_shared_output=SimpleNamespace(
            get_logits_buffer=lambda vocabulary, rows: torch.zeros(rows, vocabulary)
        ),
        get_pp_proxy_topk_size=nothing,
        get_pp_proxy_residual_num_blocks=nothing,
        get_pp_proxy_dspark_hidden_size=lambda: 0,
        get_aux_hidden_states_width=lambda: 0,
        attn_tp_sequence_sharded=lambda _: False,
    )
    runner.attn_backend = import_module(BACKEND).FlashMLABackend(runner)
    theirs = runner.attn_backend.init_cuda_graph_state

    def init_cuda_graph_state(*given: object) -> None:
        with OnHost():
            theirs(*given)

    runner.attn_backend.init_cuda_graph_state = init_cuda_graph_state
    return runner


def step(count: int, seed: int) -> Any:
    """One step of a scheduler: some requests, each with a length of its own."""
    chance = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 16, (count,), generator=chance)
    forward = import_module(BATCH)
    return forward.ForwardBatch(
        forward_mode=forward.ForwardMode.DECODE,
        batch_size=count,
        input_ids=torch.randint(0, 32, (count,), generator=chance),
        req_pool_indices=torch.arange(count),
        seq_lens=lengths,
        out_cache_loc=torch.arange(count),
        seq_lens_sum=int(lengths.sum()),
        seq_lens_cpu=lengths,
        positions=lengths - 1,
        mrope_positions=torch.zeros(3, count, dtype=torch.int64),
        capture_hidden_mode=forward.CaptureHiddenMode.NULL,
    )


def eager(runner: Any, batch: Any) -> torch.Tensor:
    """Return the model's result for a step without a graph."""
    context = import_module(f"{EXECUTOR}.forward_context")
    runner.attn_backend.init_forward_metadata(batch)
    with context.forward_context(context.ForwardContext(attn_backend=runner.attn_backend)):
        output = runner.model(batch.input_ids, batch.positions, batch)
    logits: torch.Tensor = output.next_token_logits
    return logits


def main(folder: str, variant: str) -> None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "engine_graphs"))
    torch.manual_seed(0)
    torch.cuda.get_device_properties = lambda *_: SimpleNamespace(multi_processor_count=REQUESTS)
    ours: Any = lambda: import_module("beneath.sglang").Backend  # noqa: E731
    known = surroundings(ours)
    sys.meta_path.insert(0, StandIns(Path(folder), ("sglang", "sgl_kernel", "triton"), THEIRS, known))
    flashinfer = known["sglang.srt.layers.attention.flashinfer_mla_backend"]
    base = import_module("sglang.srt.layers.attention.base_attn_backend").AttentionBackend
    flashinfer["FlashInferMLAAttnBackend"] = type(
        "FlashInferMLAAttnBackend",
        (flashinfer["FlashInferMLAAttnBackend"], base),
        {"kv_index_translator": property(lambda _: OFF, nothing)},
    )
    with torch.no_grad(), capturing():
        device = SimpleNamespace(
            synchronize=nothing,
            graph=torch.cuda.graph,
            graph_pool_handle=Pool,
            is_current_stream_capturing=lambda: False,
            Event=Off,
        )
        torch.get_device_module = lambda _: device
        runner = model_runner()
        ours().check = "error"
        if variant:
            lazily(runner.attn_backend)
        if variant == "reset":
            runner.attn_backend.on_after_cuda_graph_warmup = lambda: setattr(
                runner.attn_backend, "forward_metadata", None
            )
        try:
            graphs = import_module(RUNNER).DecodeCudaGraphRunner(runner)
        except Exception as error:  # theirs, around ours
            print(error.__context__)
            return
        print(f"graphs in the pool of SGLang: {graphs.backend._pool.graphs}")
        for count in (4, 1, 2, 3):
            batch = step(count, seed=count)
            found = graphs.execute(batch).next_token_logits
            right = torch.allclose(found, eager(runner, batch), atol=1e-4)
            print(f"{count} requests in the graph of {graphs.bs}: {'right' if right else 'WRONG'}")


if __name__ == "__main__":
    main(*sys.argv[1:3], *[""] * (3 - len(sys.argv)))
