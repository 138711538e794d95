"""unused-ignore: comments that hold back nothing, or name nothing."""

from __future__ import annotations

from collections.abc import Callable

from inline_snapshot import snapshot

from coldfork.model.effects import Effect, Verdict
from coldfork.model.findings import Finding
from coldfork.model.observations import IgnoreComment, Observation
from coldfork.rules.registry import NAMES, judge

MakeEffect = Callable[..., Effect]
MakeObservation = Callable[..., Observation]
Say = Callable[[Finding], str]
MakeIgnore = Callable[..., IgnoreComment]


def test_an_idle_rule_in_a_comment_is_named(
    observation: MakeObservation, ignore: MakeIgnore, said: Say
) -> None:
    (finding,) = judge(observation(ignores=(ignore("waking-import"),)))
    assert said(finding) == snapshot("""\
warning[unused-ignore] there is no finding of waking-import to ignore here under the
  profile cuda

a comment that suppresses nothing today hides the next finding on its line
remove waking-import from the comment\
""")
    assert (finding.module, finding.line, finding.text) == snapshot(
        ("vllm.v1.attention.backends.flash_attn", 175, "# coldfork: ignore[waking-import] measured")
    )
    assert (finding.verdict, finding.accelerator, finding.effect) == (Verdict.CERTAIN, None, None)


def test_only_the_idle_part_of_a_comment_is_reported(
    effect: MakeEffect, observation: MakeObservation, ignore: MakeIgnore
) -> None:
    comment = ignore("device-init-at-import", "waking-import", "waking-import")
    (finding,) = judge(observation(effect(), ignores=(comment,)))
    assert finding.message.startswith("there is no finding of waking-import to ignore here")


def test_a_comment_without_rules_is_idle_as_a_whole(
    effect: MakeEffect, observation: MakeObservation, ignore: MakeIgnore
) -> None:
    assert judge(observation(effect(), ignores=(ignore(),))) == ()
    (finding,) = judge(observation(effect(), ignores=(ignore(line=9),)))[:1]
    assert (finding.line, finding.message, finding.remedy) == snapshot(
        (9, "this ignore comment suppresses nothing under the profile cuda", "remove the comment")
    )


def test_an_unknown_rule_comes_with_the_near_match(observation: MakeObservation, ignore: MakeIgnore) -> None:
    near, far = judge(observation(ignores=(ignore("device-init-at-imprt"), ignore("E501", line=176))))
    assert (near.message, near.remedy) == snapshot(
        (
            "there is no rule 'device-init-at-imprt' to ignore",
            "write device-init-at-import, if that is what you meant",
        )
    )
    assert far.remedy == "`coldfork rule` lists the names"


def test_a_rule_that_did_not_run_is_not_held_against_its_comment(
    effect: MakeEffect, observation: MakeObservation, ignore: MakeIgnore
) -> None:
    others = tuple(name for name in NAMES if name != "device-init-at-import")
    seen = observation(effect(), ignores=(ignore("device-init-at-import"), ignore(line=3)))
    assert judge(seen, others) == ()
    without_this_rule = tuple(name for name in NAMES if name != "unused-ignore")
    assert judge(observation(ignores=(ignore("waking-import"),)), without_this_rule) == ()


def test_a_comment_may_ask_to_be_left_alone(observation: MakeObservation, ignore: MakeIgnore) -> None:
    assert judge(observation(ignores=(ignore("driver-init-at-import", "unused-ignore"),))) == ()
