"""SGLang's metadata for FlashMLA, on the CPU under virtual capture: `engines_sglang.py FOLDER`.

FOLDER holds the sources of a version. Theirs: `FlashMLABackend`, which keeps its plan in buffers of its own
and fills them before each replay. Stand-ins: everything that it imports, and the compiled attention, which
is given the plan. The steps are those of SGLang's `DecodeCudaGraphRunner`: metadata outside the graph,
warm-up, capture, metadata outside the graph, replay.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from coldfork.graphs import BatchDescriptor, Mode, Phase, check
from integrations.programs.stand_ins import CAPTURED, REPLAYED, REQUESTS, StandIns, capturing, verdict

BACKEND = "sglang.srt.layers.attention.flashmla_backend"


class OnHost(TorchFunctionMode):
    """Whoever asks for memory of the GPU gets some of the host."""

    def __torch_function__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        named = dict(named or {})
        if named.get("device") == "cuda":
            named["device"] = "cpu"
        return function(*given, **named)


def plan_for(lengths: torch.Tensor, *_: object, **__: object) -> tuple[torch.Tensor, torch.Tensor]:
    """As FlashMLA's `get_mla_metadata`: a plan for these lengths."""
    plan = torch.zeros(REQUESTS, 8, dtype=torch.int32)
    plan[:, 0] = torch.cumsum(lengths, 0)
    return plan, torch.arange(REQUESTS + 1, dtype=torch.int32)


def attention(
    q: torch.Tensor, tile_scheduler_metadata: torch.Tensor, **_: object
) -> tuple[torch.Tensor, None]:
    """As FlashMLA's `flash_mla_with_kvcache`: computes with the plan that it is given."""
    return q[..., :1].reshape(REQUESTS, 1) * 0 + tile_scheduler_metadata[:, :1], None


def surroundings() -> dict[str, dict[str, Any]]:
    """Return the parts of the stand-ins that are used."""
    ignored = SimpleNamespace(is_translating=False)
    kernel = type("Kernel", (), {"__getitem__": lambda self, grid: lambda *_, **__: None})()
    base = type(
        "FlashInferMLAAttnBackend",
        (),
        {
            "__init__": lambda self, runner, *_: self.__dict__.update(
                device="cpu",
                max_context_len=256,
                page_size=64,
                skip_prefill=True,
                kv_index_translator=ignored,
                token_to_kv_pool=runner.token_to_kv_pool,
            )
        },
    )
    return {
        "triton": {"cdiv": lambda a, b: -(-a // b)},
        "sgl_kernel.flash_mla": {"flash_mla_with_kvcache": attention, "get_mla_metadata": plan_for},
        "sglang.kernels.ops.attention.utils": {
            "create_flashmla_kv_indices_triton": kernel,
            "get_num_kv_index_blocks_flashmla": lambda *_: 1,
        },
        "sglang.srt.layers.attention.flashinfer_mla_backend": {"FlashInferMLAAttnBackend": base},
        "sglang.srt.runtime_context": {
            "get_parallel": lambda: SimpleNamespace(
                attn_tp_size=1, attn_dcp_size=1, attn_dcp_rank=0, dcp_enabled=False
            ),
            "get_spec": lambda: SimpleNamespace(speculative_num_draft_tokens=0),
        },
    }


class Engine:
    """A batch whose lengths change, and one layer that decodes with SGLang's backend."""

    def __init__(self) -> None:
        runner = SimpleNamespace(
            model_config=SimpleNamespace(
                num_attention_heads=1, kv_lora_rank=1, qk_nope_head_dim=0, qk_rope_head_dim=0, v_head_dim=1
            ),
            req_to_token_pool=SimpleNamespace(req_to_token=torch.zeros(REQUESTS, 256, dtype=torch.int32)),
            token_to_kv_pool=SimpleNamespace(get_key_buffer=lambda _: torch.zeros(64, 1)),
            kv_cache_dtype=torch.float32,
            dtype=torch.float32,
            is_draft_worker=False,
        )
        self.backend = import_module(BACKEND).FlashMLABackend(runner)
        self.layer = SimpleNamespace(layer_id=0, tp_q_head_num=1, head_dim=1, v_head_dim=1, scaling=1.0)
        no, yes = (lambda: False), (lambda: True)
        mode = SimpleNamespace(is_decode_or_idle=yes, is_target_verify=no, is_draft_extend_v2=no)
        self.batch = SimpleNamespace(
            batch_size=REQUESTS,
            req_pool_indices=torch.arange(REQUESTS),
            seq_lens=torch.tensor(CAPTURED),
            seq_lens_cpu=None,
            forward_mode=mode,
            out_cache_loc=None,
        )
        self.query = torch.zeros(REQUESTS, 1)
        self.backend.init_cuda_graph_state(REQUESTS, REQUESTS)

    def forward(self) -> torch.Tensor:
        """One layer of decoding."""
        out: torch.Tensor = self.backend.forward_decode(self.query, None, None, self.layer, self.batch)
        return out

    def replayed(self, prepare: Callable[[], None]) -> str:
        """Warm up, capture, and replay on another batch, with the metadata that is prepared so."""
        prepare()
        self.forward()
        graph: Any = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = self.forward()
        self.batch.seq_lens.copy_(torch.tensor(REPLAYED))
        prepare()
        graph.replay()
        self.batch.seq_lens.copy_(torch.tensor(CAPTURED))
        return verdict(out.flatten())

    def create(self, _: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], None]:
        """Do what SGLang's runner does for each phase, as coldfork's check asks for it."""
        self.backend.init_forward_metadata_out_graph(self.batch, in_capture=True)
        return (lambda _: self.forward()), None


def main(folder: str) -> None:
    parts = [BACKEND]
    sys.meta_path.insert(0, StandIns(Path(folder), ("sglang", "sgl_kernel", "triton"), parts, surroundings()))
    torch.cuda.get_device_properties = lambda *_: SimpleNamespace(multi_processor_count=REQUESTS)
    with OnHost(), capturing():
        engine = Engine()
        outside = engine.replayed(lambda: engine.backend.init_forward_metadata_out_graph(engine.batch))
        print(f"metadata in the buffers of the backend, as SGLang captures: {outside}")
        eager = engine.replayed(lambda: engine.backend.init_forward_metadata(engine.batch))
        print(f"metadata of the eager path, as nobody should: {eager}")
    with contextlib.ExitStack() as stack:
        stack.enter_context(OnHost())
        engine = Engine()
        backend = engine.backend
        kept = [backend.cuda_graph_mla_metadata, backend.cuda_graph_num_splits, backend.cuda_graph_kv_indices]
        size = [BatchDescriptor(Mode.FULL, REQUESTS)]
        lengths = engine.batch.seq_lens
        print(
            f"coldfork.graphs.check of it:\n{check(engine.create, size, inputs=[lengths], persistent=kept)}"
        )


if __name__ == "__main__":
    main(sys.argv[1])
