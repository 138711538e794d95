"""The list of rules, their ids, and the comments that hold findings back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coldfork.rules
from coldfork.model.effects import Effect, EffectKind
from coldfork.model.errors import UsageError
from coldfork.model.findings import Finding, Severity
from coldfork.model.observations import IgnoreComment, Observation
from coldfork.rules import registry
from coldfork.rules.findings.drafting import identify

MakeEffect = Callable[..., Effect]
MakeObservation = Callable[..., Observation]
MakeIgnore = Callable[..., IgnoreComment]


def test_every_rule_module_is_listed_and_named_for_its_rule() -> None:
    folder = Path(coldfork.rules.__file__).parent
    modules = {path.stem for path in folder.rglob("*.py") if "NAME =" in path.read_text(encoding="utf-8")}
    assert modules == {name.replace("-", "_") for name in registry.NAMES}
    for name in registry.NAMES:
        assert name == registry.rule(name).NAME
        assert registry.rule(name).SEVERITY in Severity


def test_every_rule_has_a_test_file() -> None:
    tests = {path.name for path in Path(__file__).parent.rglob("test_*.py")}
    assert {f"test_{name.replace('-', '_')}.py" for name in registry.NAMES} <= tests


def test_rules_load_on_demand() -> None:
    program = (
        "import sys, coldfork.rules.registry\n"
        "endings = ('_import', '_reexport', '_ignore', '_source')\n"
        "print([name for name in sys.modules if name.endswith(endings)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_selection_keeps_the_order_and_refuses_strangers() -> None:
    assert registry.selection() == registry.NAMES
    assert registry.selection(["eager-reexport", "waking-import"]) == ("waking-import", "eager-reexport")
    assert registry.selection(without=registry.NAMES[1:]) == registry.NAMES[:1]
    assert registry.selection(registry.NAMES[:1], registry.NAMES[:1]) == ()
    with pytest.raises(UsageError, match="no rule 'wakingimport'; did you mean waking-import"):
        registry.selection(["wakingimport"])
    with pytest.raises(UsageError, match=r"no rule 'qqq'; `coldfork rule` lists them all"):
        registry.selection(without=["qqq"])


def test_no_rule_selected_finds_nothing(effect: MakeEffect, observation: MakeObservation) -> None:
    assert registry.judge(observation(effect()), ()) == ()


def test_findings_are_sorted_by_place(effect: MakeEffect, observation: MakeObservation) -> None:
    places = [("b.py", 1, 0), ("a.py", 20, 4), ("a.py", 3, 9), ("a.py", 3, 2)]
    effects = [effect(path=path, line=line, column=column) for path, line, column in places]
    found = [
        (finding.path, finding.line, finding.column) for finding in registry.judge(observation(*effects))
    ]
    assert found == sorted(places)


def test_a_comment_holds_back_what_stands_on_its_statement(
    effect: MakeEffect, observation: MakeObservation, ignore: MakeIgnore
) -> None:
    comment = ignore("device-init-at-import", line=177, covers=(174, 177))
    judgement = registry.judge_all(observation(effect(), effect(line=178, end_line=178), ignores=(comment,)))
    assert [finding.line for finding in judgement.findings] == [178]
    assert [finding.line for finding in judgement.ignored] == [175]


def test_a_comment_in_another_file_holds_back_nothing(
    effect: MakeEffect, observation: MakeObservation, ignore: MakeIgnore
) -> None:
    judgement = registry.judge_all(observation(effect(), ignores=(ignore(path="vllm/other.py"),)))
    assert [finding.rule for finding in judgement.findings] == ["unused-ignore", "device-init-at-import"]
    assert judgement.ignored == ()


def test_ignoring_one_finding_leaves_the_ids_of_its_equals_alone(
    effect: MakeEffect, observation: MakeObservation, ignore: MakeIgnore
) -> None:
    effects = (effect(line=10), effect(line=20), effect(line=30))
    every = registry.judge(observation(*effects))
    some = registry.judge(observation(*effects, ignores=(ignore(line=10),)))
    assert [finding.id for finding in some] == [finding.id for finding in every][1:]


@given(shift=st.integers(0, 500), blanks=st.integers(0, 8), column=st.integers(0, 80))
def test_ids_do_not_hang_on_lines_or_indentation(shift: int, blanks: int, column: int) -> None:
    before = identify(drafts("x = f()", "y = f()", "x = f()"))
    moved = [
        replace(draft, line=draft.line + shift, column=column, text=" " * blanks + draft.text)
        for draft in drafts("x = f()", "y = f()", "x = f()")
    ]
    assert [finding.id for finding in identify(moved)] == [finding.id for finding in before]
    assert len({finding.id for finding in before}) == 3


@pytest.mark.parametrize("change", [{"rule": "waking-import"}, {"module": "other"}, {"text": "z = f()"}])
def test_ids_hang_on_rule_module_and_source(change: dict[str, str]) -> None:
    (draft,) = drafts("x = f()")
    assert identify([draft])[0].id != identify([replace(draft, **change)])[0].id  # type: ignore[arg-type]


def test_ids_hang_on_the_chain(effect: MakeEffect, observation: MakeObservation) -> None:
    through_a, through_b = (effect(sink=sink) for sink in ("torch.cuda.init", "torch.cuda.current_device"))
    assert registry.judge(observation(through_a))[0].id != registry.judge(observation(through_b))[0].id


def test_ids_of_undecodable_names_exist() -> None:
    (finding,) = identify(drafts("x = '\udcff'"))
    assert len(finding.id) == 20


def test_what_a_rule_does_not_know_is_silent(effect: MakeEffect, observation: MakeObservation) -> None:
    known = {EffectKind.CREATES_CONTEXT, EffectKind.INITIALISES_DRIVER, EffectKind.QUERIES_DEVICE}
    for kind in EffectKind:
        assert bool(registry.judge(observation(effect(kind=kind)))) == (kind in known)


def drafts(*texts: str) -> list[Finding]:
    """Findings without ids, one a line."""
    from coldfork.model.effects import Verdict
    from coldfork.rules.findings.drafting import on_file

    return [
        on_file(
            "engine/core.py",
            line,
            0,
            rule="device-init-at-import",
            verdict=Verdict.CERTAIN,
            message="",
            consequence="",
            remedy="",
            text=text,
        )
        for line, text in enumerate(texts, 1)
    ]


@pytest.mark.parametrize("name", registry.REMOVED)
def test_a_removed_rule_is_called_removed_wherever_it_is_named(
    name: str, effect: MakeEffect, observation: MakeObservation, ignore: MakeIgnore
) -> None:
    said = f"the rule '{name}' was removed: coldfork.graphs.assert_replayable finds such faults at run time"
    assert name not in registry.NAMES
    for ask in (
        registry.rule,
        lambda name: registry.selection([name]),
        lambda name: registry.selection((), [name]),
    ):
        with pytest.raises(UsageError) as refused:
            ask(name)
        assert str(refused.value) == said
    comment = ignore("device-init-at-import", name)
    (complaint,) = registry.judge(observation(effect(), ignores=(comment,)))
    assert (complaint.rule, complaint.message) == ("unused-ignore", f"the rule '{name}' was removed")
    assert complaint.remedy.startswith(f"remove {name} from the comment")
