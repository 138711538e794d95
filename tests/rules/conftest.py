"""Effects and observations made by hand, so that rules are tested without the engine."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from coldfork.model.effects import Chain, Effect, EffectKind, ImportOf, Position, Step, StepKind, Verdict
from coldfork.model.findings import Finding
from coldfork.model.observations import IgnoreComment, Observation, Statistics, Unreadable


@pytest.fixture
def effect() -> Callable[..., Effect]:
    """Make an effect: the class body of vLLM 0.11.0, unless an argument says otherwise."""

    def make(**changes: Any) -> Effect:
        line = changes.get("line", 175)
        symbol = changes.pop("symbol", "FlashAttentionMetadataBuilder")
        sink = changes.pop("sink", "torch.cuda.get_device_capability")
        text = changes.get("text", "if get_flash_attn_version() == 3")
        path = changes.get("path", "vllm/v1/attention/backends/flash_attn.py")
        chain = Chain(
            (
                Step(StepKind.CLASS_BODY, symbol, path, line, text),
                Step(StepKind.CALL, "get_flash_attn_version", "vllm/attention/utils/fa_utils.py", 56, "..."),
                Step(StepKind.SINK, sink),
            )
        )
        fields: dict[str, Any] = {
            "kind": EffectKind.CREATES_CONTEXT,
            "accelerator": "cuda",
            "verdict": Verdict.CERTAIN,
            "module": "vllm.v1.attention.backends.flash_attn",
            "path": path,
            "line": line,
            "end_line": line,
            "column": 11,
            "text": text,
            "position": Position.CLASS_BODY,
            "chain": chain,
        }
        return Effect(**{**fields, **changes})

    return make


@pytest.fixture
def import_of() -> Callable[..., ImportOf]:
    """Make the import behind an effect: of a dependency, in an ordinary module, unless told otherwise."""

    def make(**changes: Any) -> ImportOf:
        fields: dict[str, Any] = {
            "module": "deepspeed",
            "own": False,
            "statement_in_init": False,
            "importers": 0,
            "gated": False,
            "woken_elsewhere": False,
        }
        return ImportOf(**{**fields, **changes})

    return make


@pytest.fixture
def observation() -> Callable[..., Observation]:
    """Make an observation of effects, ignore comments and unreadable files."""

    def make(
        *effects: Effect,
        ignores: tuple[IgnoreComment, ...] = (),
        unreadable: tuple[Unreadable, ...] = (),
        profile: str = "cuda",
    ) -> Observation:
        return Observation(profile, effects, unreadable, ignores, Statistics(1, 1, 0, 0.1))

    return make


@pytest.fixture
def ignore() -> Callable[..., IgnoreComment]:
    """Make an ignore comment on the line of the usual effect."""

    def make(
        *rules: str, line: int = 175, covers: tuple[int, int] | None = None, **changes: Any
    ) -> IgnoreComment:
        fields: dict[str, Any] = {
            "path": "vllm/v1/attention/backends/flash_attn.py",
            "line": line,
            "column": 40,
            "rules": rules,
            "reason": "measured",
            "covers": covers or (line, line),
        }
        return IgnoreComment(**{**fields, **changes})

    return make


@pytest.fixture
def said() -> Callable[[Finding], str]:
    """Everything a finding says, one sentence a paragraph, folded to fit a snapshot."""

    def say(finding: Finding) -> str:
        head = f"{finding.severity.value}[{finding.rule}] {finding.message}"
        sentences = (head, finding.where, finding.consequence, finding.remedy)
        return "\n".join(textwrap.fill(sentence, 90, subsequent_indent="  ") for sentence in sentences)

    return say
