"""Published faults of vLLM, and the versions that repaired them."""

from __future__ import annotations

from coldfork.knowledge.repairs.entry import Fault, Repair

_FLASH = "vllm/vllm_flash_attn/flash_attn_interface.py"
_CAPABILITY = "torch.cuda.get_device_capability"

VLLM = (
    Repair(
        ("vllm-fa-classbody",),
        "vllm",
        ("0.10.2", "0.11.0", "0.11.1", "0.13.0", "0.16.0"),
        "0.17.0",
        "the question for the FlashAttention version goes to the platform, which asks NVML",
        "vllm/vllm_flash_attn/flash_attn_interface.py of 0.16.0 and of 0.17.0",
        (
            Fault(
                "vllm/v1/attention/backends/flash_attn.py",
                "FlashAttentionMetadataBuilder",
                "get_flash_attn_version()",
            ),
            Fault(_FLASH, "_is_fa2_supported", _CAPABILITY),
            Fault(_FLASH, "_is_fa3_supported", _CAPABILITY),
        ),
    ),
    Repair(
        ("vllm-blocksparse-is-available",),
        "vllm",
        ("0.5.0.post1", "0.6.1.post2"),
        "0.6.2",
        "the block-sparse attention asks the platform, which asks NVML",
        "https://github.com/vllm-project/vllm/pull/8534",
        (
            Fault(
                "vllm/attention/ops/blocksparse_attention/interface.py",
                "<module>",
                "torch.cuda.is_available()",
            ),
            Fault("vllm/attention/ops/blocksparse_attention/interface.py", "<module>", _CAPABILITY),
        ),
    ),
    Repair(
        ("vllm-marlin-module",),
        "vllm",
        ("0.5.0.post1",),
        "0.5.1",
        "the capability is read in a function, from NVML",
        "https://github.com/vllm-project/vllm/pull/5991",
        (
            Fault(
                "vllm/model_executor/layers/quantization/utils/marlin_utils.py",
                "<module>",
                _CAPABILITY,
            ),
        ),
    ),
    Repair(
        ("vllm-rocm-flash-attn-module",),
        "vllm",
        ("0.6.2", "0.6.3", "0.6.4", "0.7.3"),
        "0.8.5",
        "functions of the platform read the architecture's name when they are called",
        "vllm/attention/backends/rocm_flash_attn.py:26 of 0.7.3, vllm/platforms/rocm.py:99 of 0.8.5",
        (
            Fault(
                "vllm/attention/backends/rocm_flash_attn.py",
                "<module>",
                "torch.cuda.get_device_properties",
            ),
        ),
    ),
    Repair(
        ("vllm-deviceconfig-is-available",),
        "vllm",
        ("0.3.3",),
        "0.4.1",
        "CUDA is assumed unless another platform was found",
        "https://github.com/vllm-project/vllm/pull/3487",
        (Fault("vllm/config.py", "__init__", "torch.cuda.is_available()"),),
    ),
    Repair(
        ("vllm-dsv4-capture-lazy-state",),
        "vllm",
        ("0.21.0",),
        "0.22.0",
        "the capture pass builds an attention state of its own",
        "https://github.com/vllm-project/vllm/pull/42444",
        (Fault("vllm/v1/worker/gpu/cudagraph_utils.py", "capture", "forward_fn("),),
        ("lazy-state-in-capture",),
    ),
    Repair(
        ("vllm-fla-utils",),
        "vllm",
        ("0.11.2", "0.33.0"),
        None,
        "0.33.0 still reads the device's name and capability when the module is imported",
        "https://github.com/vllm-project/vllm/pull/47539",
        (
            Fault(
                "vllm/model_executor/layers/fla/ops/utils.py",
                "<module>",
                "torch.cuda.get_device_name",
            ),
            Fault("vllm/model_executor/layers/fla/ops/utils.py", "<module>", _CAPABILITY),
            Fault(
                "vllm/third_party/flash_linear_attention/ops/utils.py",
                "<module>",
                "torch.cuda.get_device_name",
            ),
            Fault("vllm/third_party/flash_linear_attention/ops/utils.py", "<module>", _CAPABILITY),
        ),
    ),
)
