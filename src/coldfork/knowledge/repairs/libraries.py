"""Published faults of libraries other than vLLM, and the versions that repaired them."""

from __future__ import annotations

from coldfork.knowledge.repairs.entry import Fault, Repair

_AVAILABLE = "torch.cuda.is_available()"
_TRAINERS = ("bco", "dpo", "gkd", "grpo", "kto", "orpo")
_ASKS_FOR_TPU = (
    "accelerator.py",
    "checkpointing.py",
    "data_loader.py",
    "optimizer.py",
    "state.py",
    "utils/operations.py",
    "utils/other.py",
    "utils/random.py",
)
_ASKS_FOR_SM = (
    "kernels/ops/gemm/fused_a_gemm.py",
    "srt/models/bailing_moe_linear.py",
    "srt/models/deepseek_common/utils.py",
    "srt/models/glm4_moe.py",
    "srt/models/glm4v_moe.py",
    "srt/models/longcat_flash.py",
    "srt/models/minimax_m3.py",
)
_ASKS_FOR_TRITON = (
    "ops/tiled_matmul.py",
    "ops/sequence_parallel_fused_ops.py",
    "components/residual.py",
    "components/attention/blocksparse.py",
    "components/attention/core.py",
)

LIBRARIES = (
    Repair(
        ("accelerate-bnb",),
        "accelerate",
        ("0.21.0",),
        "0.22.0",
        "bitsandbytes is imported by the functions that need it",
        "https://github.com/huggingface/accelerate/pull/1813",
        (Fault("accelerate/utils/bnb.py", "<module>", "import bitsandbytes"),),
    ),
    Repair(
        ("accelerate-is-tpu",),
        "accelerate",
        ("0.21.0",),
        "0.22.0",
        "the question goes to NVML",
        "https://github.com/huggingface/accelerate/pull/1833",
        (
            Fault("accelerate/utils/imports.py", "is_tpu_available", _AVAILABLE),
            *(Fault(f"accelerate/{file}", "<module>", "is_tpu_available(") for file in _ASKS_FOR_TPU),
        ),
    ),
    Repair(
        ("deepspeed-triton-import-crash",),
        "deepspeed",
        ("0.16.3",),
        None,
        "0.16.4 asks the accelerator for its capability first, which itself wakes CUDA",
        "https://github.com/deepspeedai/DeepSpeed/issues/7028",
        (
            Fault(
                "deepspeed/model_implementations/transformers/ds_transformer.py",
                "<module>",
                "from deepspeed.ops.transformer.inference.triton",
            ),
            Fault(
                "deepspeed/ops/transformer/inference/triton/triton_matmul_kernel.py",
                "<module>",
                "@triton.autotune",
            ),
        ),
    ),
    Repair(
        ("flashinfer-gdn-module",),
        "flashinfer-python",
        ("0.6.11.post3",),
        "0.6.12",
        "cached functions ask when they are called, for the tensor's own device",
        "https://github.com/flashinfer-ai/flashinfer/pull/3293",
        (
            Fault(
                "flashinfer/gdn_kernels/gdn_decode_bf16_state.py",
                "<module>",
                "torch.cuda.get_device_properties",
            ),
            Fault(
                "flashinfer/gdn_kernels/gdn_decode_bf16_state.py",
                "<module>",
                "torch.cuda.get_device_capability",
            ),
        ),
    ),
    Repair(
        ("lightning-bad-fork-check",),
        "lightning",
        ("2.6.0",),
        "2.6.1",
        "the check asks whether this process is a bad fork, and no longer refuses a harmless fork",
        "https://github.com/Lightning-AI/pytorch-lightning/pull/21402",
        (
            Fault(
                "lightning/fabric/strategies/launchers/multiprocessing.py",
                "_check_bad_cuda_fork",
                "torch.cuda.is_initialized()",
            ),
        ),
    ),
    Repair(
        ("lmcache-gpu-context",),
        "lmcache",
        ("0.4.4",),
        None,
        "0.4.5 asks the same question in the root of the package",
        "https://github.com/LMCache/LMCache/pull/3091",
        (
            Fault("lmcache/v1/multiprocess/gpu_context.py", "<module>", _AVAILABLE),
            Fault("lmcache/v1/storage_backend/plugins/dax_backend.py", "<module>", _AVAILABLE),
        ),
    ),
    Repair(
        ("pl-fork-num-devices",),
        "pytorch-lightning",
        ("1.6.5",),
        "1.7.0",
        "a separate process counts the devices",
        "https://github.com/Lightning-AI/pytorch-lightning/pull/13405",
        (
            Fault(
                "pytorch_lightning/accelerators/gpu.py",
                "auto_device_count",
                "torch.cuda.device_count()",
            ),
        ),
    ),
    Repair(
        ("sglang-get-device-sm",),
        "sglang",
        ("0.5.20",),
        "0.5.21",
        "the capability is read from NVML while CUDA sleeps; the call of `torch.cuda.is_available()` "
        "before it remains, so also set `PYTORCH_NVML_BASED_CUDA_CHECK=1`",
        "https://github.com/sgl-project/sglang/pull/40201",
        (
            Fault("sglang/srt/utils/common.py", "get_device_sm", "torch.cuda.get_device_capability"),
            *(Fault(f"sglang/{file}", "<module>", "get_device_sm()") for file in _ASKS_FOR_SM),
        ),
    ),
    Repair(
        ("stable-baselines-fork",),
        "stable-baselines",
        ("2.4.1",),
        "2.5.0",
        'the start method is an argument, `SubprocVecEnv(..., start_method="spawn")`; fork is the default',
        "https://github.com/hill-a/stable-baselines/issues/217",
        (Fault("stable_baselines/common/vec_env/subproc_vec_env.py", "__init__", "Process(target=_worker"),),
    ),
    Repair(
        ("torch-prims-1.12",),
        "torch",
        ("1.12.0",),
        "1.12.1",
        "importing torch checks whether the build has nvFuser, and asks no device",
        "https://github.com/pytorch/pytorch/issues/80876",
        (Fault("torch/_prims/utils.py", "<module>", _AVAILABLE),),
    ),
    Repair(
        ("torch-scatter-module",),
        "torch-scatter",
        ("2.0.6",),
        "2.1.2",
        "the package looks for its library files and asks no device",
        "https://github.com/rusty1s/pytorch_scatter/issues/209",
        (Fault("torch_scatter/__init__.py", "<module>", _AVAILABLE),),
    ),
    Repair(
        ("transformers-modeling-utils-deepspeed",),
        "transformers",
        ("4.51.3",),
        "4.52.1",
        "functions import deepspeed when they need it",
        "https://github.com/huggingface/transformers/pull/37755",
        (Fault("transformers/modeling_utils.py", "<module>", "import deepspeed"),),
    ),
    Repair(
        ("triton-autotune-decorator",),
        "triton",
        ("3.2.0", "3.3.0", "3.3.1"),
        "3.4.0",
        "the autotune decorator resolves the driver when the kernel is first tuned",
        "https://github.com/triton-lang/triton/issues/6150",
        (
            Fault("triton/runtime/autotuner.py", "__init__", "driver.active.get_benchmarker()"),
            Fault("triton/runtime/autotuner.py", "autotune", "autotune"),
        ),
    ),
    Repair(
        ("trl-deepspeed",),
        "trl",
        ("0.17.0",),
        "0.18.0",
        "functions import deepspeed when they need it",
        "https://github.com/huggingface/trl/pull/3351",
        (
            Fault("trl/models/utils.py", "<module>", "import deepspeed"),
            Fault("trl/trainer/callbacks.py", "<module>", "import deepspeed"),
            *(Fault(f"trl/trainer/{name}_trainer.py", "<module>", "import deepspeed") for name in _TRAINERS),
        ),
    ),
    Repair(
        ("xformers-triton-available",),
        "xformers",
        ("0.0.25.post1", "0.0.26.post1"),
        "0.0.28",
        "operators ask for Triton when they run",
        "https://github.com/facebookresearch/xformers/issues/1030",
        (*(Fault(f"xformers/{file}", "<module>", "_is_triton_available()") for file in _ASKS_FOR_TRITON),),
    ),
    Repair(
        ("clip-default-arg", "clip-anytorch-default-arg"),
        "openai-clip",
        ("1.0.1",),
        None,
        "1.0.1 still chooses the device in a default argument, which is computed on import",
        "https://github.com/openai/CLIP/pull/196",
        (Fault("clip/clip.py", "<module>", _AVAILABLE),),
    ),
    Repair(
        ("pyg-config-show",),
        "torch-geometric",
        ("2.6.1", "2.8.1"),
        None,
        "2.8.1 still prints torch's build configuration on import, which initialises the driver",
        "https://github.com/pytorch/pytorch/issues/138453",
        (Fault("torch_geometric/typing.py", "<module>", "torch.__config__.show()"),),
    ),
)
