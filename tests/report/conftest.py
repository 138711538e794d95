"""Findings and reports as rules would make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from coldfork.model.effects import Chain, Step, StepKind, Verdict
from coldfork.model.findings import Finding, Report, Severity, Skipped
from coldfork.model.observations import Observation, Statistics
from coldfork.rules.causes.judging import judge

FLASH_ATTN = "vllm/v1/attention/backends/flash_attn.py"
INTERFACE = "vllm/vllm_flash_attn/flash_attn_interface.py"


@pytest.fixture
def flash_attn() -> Finding:
    """The class body of vLLM 0.11.0 that asks for the device's capability."""
    chain = Chain(
        (
            Step(
                StepKind.CLASS_BODY,
                "FlashAttentionMetadataBuilder",
                FLASH_ATTN,
                175,
                "if get_flash_attn_version() == 3 else AttentionCGSupport.NEVER",
            ),
            Step(
                StepKind.CALL,
                "get_flash_attn_version",
                "vllm/attention/utils/fa_utils.py",
                56,
                "if not is_fa_version_supported(fa_version):",
            ),
            Step(StepKind.CALL, "is_fa_version_supported", INTERFACE, 55, "return _is_fa2_supported()"),
            Step(StepKind.CALL, "_is_fa2_supported", INTERFACE, 35, "capability = get_device_capability()"),
            Step(StepKind.SINK, "torch.cuda.get_device_capability"),
        )
    )
    return Finding(
        id="6f1d02a9c4",
        rule="device-init-at-import",
        severity=Severity.ERROR,
        verdict=Verdict.CERTAIN,
        condition=None,
        presumed=("vllm.vllm_flash_attn._vllm_fa2_C imports",),
        accelerator="cuda",
        effect="creates-context",
        module="vllm.v1.attention.backends.flash_attn",
        path=FLASH_ATTN,
        line=175,
        column=11,
        position="class-body",
        test=False,
        message="importing vllm.v1.attention.backends.flash_attn wakes cuda",
        consequence="every process that imports this module can no longer fork workers that use the GPU",
        remedy="compute it on first use",
        chain=chain,
        text="if get_flash_attn_version() == 3 else AttentionCGSupport.NEVER",
        where="in the body of class FlashAttentionMetadataBuilder",
    )


@pytest.fixture
def engine(flash_attn: Finding) -> Finding:
    """A module that imports the waking one, behind a condition."""
    steps = (
        Step(StepKind.IMPORT, "vllm.engine", "vllm/engine.py", 12, "from vllm.v1 import flash_attn"),
        Step(StepKind.IMPORT, flash_attn.module, FLASH_ATTN, 175),
        *flash_attn.chain.steps[1:],
    )
    return replace(
        flash_attn,
        id="77aa",
        rule="waking-import",
        verdict=Verdict.CONDITIONAL,
        condition="current_platform.is_cuda()\n    and has_nixl_ep()",
        presumed=(),
        module="vllm.engine",
        path="vllm/engine.py",
        line=12,
        end_line=13,
        column=0,
        position="import",
        message="importing vllm.engine imports vllm.v1.attention.backends.flash_attn, which wakes cuda",
        remedy="import it in the function that uses it",
        chain=Chain(steps),
        text="from vllm.v1 import (\n    flash_attn,\n)",
        where="at module level",
    )


@pytest.fixture
def switched(engine: Finding) -> Finding:
    """A line that wakes the device itself, behind a condition."""
    site = Step(StepKind.MODULE, "vllm.engine", "vllm/engine.py", 12, "torch.cuda.init()")
    return replace(
        engine,
        id="5c1e",
        rule="device-init-at-import",
        message="importing vllm.engine can wake cuda",
        remedy="compute it on first use",
        chain=Chain((site, Step(StepKind.SINK, "torch.cuda.init"))),
        end_line=None,
        text="torch.cuda.init()",
    )


@pytest.fixture
def unused_ignore() -> Finding:
    """A finding that is about a comment, not about a device."""
    step = Step(StepKind.MODULE, "vllm.util", "vllm/util.py", 4)
    return Finding(
        id="0c",
        rule="unused-ignore",
        severity=Severity.WARNING,
        verdict=Verdict.CERTAIN,
        condition=None,
        presumed=(),
        accelerator=None,
        effect=None,
        module="vllm.util",
        path="vllm/util.py",
        line=4,
        column=30,
        position=None,
        test=True,
        message="this comment ignores device-init-at-import, which finds nothing here",
        consequence="",
        remedy="delete the comment",
        chain=Chain((step,)),
        text="import torch  # coldfork: ignore[device-init-at-import] old",
    )


@pytest.fixture
def long_chain(flash_attn: Finding) -> Finding:
    """A chain of thirty steps."""
    calls = (Step(StepKind.CALL, f"level_{depth}", "deep.py", depth) for depth in range(2, 30))
    steps = (Step(StepKind.MODULE, "deep", "deep.py", 1, "level_2()"), *calls, Step(StepKind.SINK, "cuInit"))
    return replace(
        flash_attn,
        id="d33b",
        rule="driver-init-at-import",
        presumed=(),
        effect="initialises-driver",
        module="deep",
        path="deep.py",
        line=1,
        column=0,
        position="module",
        message="importing deep initialises the CUDA driver",
        chain=Chain(steps),
        text="level_2()",
        where="",
    )


ReportMaker = Callable[..., Report]


@pytest.fixture
def report_of() -> ReportMaker:
    """Makes a report of some findings as the rules and the baseline would leave it."""

    def make(*findings: Finding, skipped: tuple[Skipped, ...] = (), known: int = 0, **counts: int) -> Report:
        statistics = Statistics(945, 940, 5, 1.2345, own_modules=120, bytes_read=13_600_000)
        judged = judge(Observation("cuda", (), (), (), statistics), findings)
        return Report(
            profile="cuda",
            findings=judged.findings,
            causes=judged.causes,
            skipped=skipped,
            statistics=statistics,
            known=known,
            ignored=counts.get("ignored", 0),
            gone=counts.get("gone", 0),
            failing=counts.get("failing", len(judged.causes)),
        )

    return make
