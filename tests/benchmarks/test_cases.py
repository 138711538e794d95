"""The table of known bugs, and how findings are compared with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import caselist, cases, judging, promises, tool
from benchmarks.caselist import Case, Culprit, Place
from benchmarks.promises import Shop
from published import places
from published.errors import UnavailableError
from published.sources import Wanted

pytestmark = pytest.mark.once


def finding(path: str, line: int, verdict: str = "certain", **more: Any) -> dict[str, Any]:
    chain = [{"kind": "module", "path": path, "line": line, "symbol": "m", "text": ""}]
    chain += [
        {"kind": "call", "path": step[0], "line": step[1], "symbol": "f", "text": ""}
        for step in more.pop("through", ())
    ]
    chain.append(
        {
            "kind": "sink",
            "path": None,
            "line": None,
            "symbol": more.pop("sink", "torch.cuda.init"),
            "text": "",
        }
    )
    return {
        "rule": "device-init-at-import", "verdict": verdict, "condition": None, "effect": "creates-context",
        "path": path, "line": line, "position": "module", "test": False, "message": "", "remedy": "",
        "presumed": [], "chain": chain, **more,
    }  # fmt: skip


def case_of(culprits: Sequence[Culprit], **more: Any) -> Case:
    plain: dict[str, Any] = {
        "id": "a-case", "repository": "r/a", "number": 1, "url": None, "package": "a", "trouble": "t.",
        "mended": "m.", "static": "yes", "guarded": None, "buggy": (Wanted("a", "1.0"),),
        "fixed": Wanted("a", "2.0"),
    }  # fmt: skip
    return Case(**{**plain, **more}, culprits=tuple(culprits))


def test_the_table_loads_and_every_fact_is_there() -> None:
    table = caselist.load()
    assert len(table) >= 24
    for case in table:
        assert case.trouble.endswith("."), case.id
        assert case.culprits, case.id
        assert case.buggy, case.id
        assert (case.mended is None) == (case.fixed is None), case.id
        assert case.url is None or f"/{case.number}" in case.url, case.id
        assert case.static in {"yes", "partly", "no"}, case.id
        for culprit in case.culprits:
            assert all(place.first <= place.last for place in culprit.places), case.id
            assert culprit.remains <= tool.WAKING, case.id
    assert any(case.guarded for case in table)
    assert sum(case.on_import for case in table) >= 18


def test_every_distilled_package_belongs_to_a_case() -> None:
    known = {case.id for case in caselist.load()} | {"vllm-dsv4-reexport"}
    folder = places.ROOT / "tests" / "source" / "packages"
    assert {path.name for path in folder.iterdir() if path.is_dir()} <= known


def test_a_place_is_read_and_holds_its_lines() -> None:
    place = Place.parse("a/b.py:3-5")
    assert place == Place("a/b.py", 3, 5)
    assert str(place) == "a/b.py:3-5"
    assert place.holds("a/b.py", 5)
    assert not place.holds("a/b.py", 6)
    assert not place.holds("a/c.py", 4)
    assert not place.holds("a/b.py", None)
    with pytest.raises(UnavailableError, match=r"is not FILE\.py:LINE"):
        Place.parse("a/b.py")


def test_a_table_of_another_schema_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "cases.json"
    table.write_text(json.dumps({"schema": 2, "cases": []}))
    with pytest.raises(UnavailableError, match="has schema 2"):
        caselist.load(table)


CULPRIT = Culprit((Place("a/m.py", 3, 4),))


def test_line_and_chain_are_told_apart() -> None:
    through = finding("a/x.py", 1, "conditional", through=[("a/m.py", 4)])
    found = judging.seen(CULPRIT, [through])
    assert (found.at_line, found.in_chain, found.verdict) == (None, "conditional", "conditional")
    found = judging.seen(CULPRIT, [through, finding("a/m.py", 3)])
    assert (found.at_line, found.in_chain) == ("certain", "certain")
    assert judging.seen(CULPRIT, [finding("a/m.py", 5)]).verdict is None


def test_the_corresponding_place_is_where_the_text_went() -> None:
    before, after = ["", "", "if cold():", "  x("], ["x(", "if cold():", "y()", "  x("]
    places_ = judging.corresponding(CULPRIT, lambda path: before, lambda path: after)
    assert [place.first for place in places_] == [2]
    assert judging.corresponding(CULPRIT, lambda path: before, lambda path: None) == ()
    told = Culprit(CULPRIT.places, (Place("a/n.py", 1, 1),))
    assert judging.corresponding(told, lambda path: before, lambda path: after) == told.fixed_places


def test_effects_that_the_fix_left_are_no_false_alarm() -> None:
    lines = {"a/m.py": ["", "", "x = wake()", ""]}
    left = finding("a/m.py", 3, effect="initialises-driver")
    culprit = Culprit(CULPRIT.places, remains=frozenset({"initialises-driver"}))
    assert judging.still_there(case_of([CULPRIT]), [left], lines.get, lines.get) == "certain"
    assert judging.still_there(case_of([culprit]), [left], lines.get, lines.get) is None
    worse = finding("a/m.py", 3, "conditional")
    assert judging.still_there(case_of([culprit]), [left, worse], lines.get, lines.get) == "conditional"


def outcome(case: Case, verdict: str | None, fixed: str | None = None) -> judging.Outcome:
    found = tuple(judging.Found(culprit, verdict, None) for culprit in case.culprits)
    return judging.Outcome(case, found, fixed, (0, 0))


def test_what_counts_as_failure() -> None:
    assert outcome(case_of([CULPRIT]), "certain").failures == ()
    assert outcome(case_of([CULPRIT]), None).failures == ("missed a/m.py:3-4",)
    assert outcome(case_of([CULPRIT]), "conditional").failures == (
        "nothing guards it, yet it is not certain",
    )
    assert outcome(case_of([CULPRIT], guarded="if x"), "conditional").failures == ()
    assert outcome(case_of([CULPRIT]), "certain", "certain").failures == (
        "still certain in the fixed version",
    )
    assert outcome(case_of([CULPRIT]), "certain", "conditional").failures == ()
    assert outcome(case_of([CULPRIT], fix_is_warm=True), "certain", "certain").failures == ()


def test_totals() -> None:
    good, bad = outcome(case_of([CULPRIT]), "certain"), outcome(case_of([CULPRIT]), None, "certain")
    guarded = outcome(case_of([CULPRIT], guarded="if x", fixed=None, mended=None), "conditional")
    figures = cases.totals([good, bad, guarded])
    assert figures == {
        "cases": 3, "cases_found": 2, "culprits": 3, "culprits_found_at_line": 2,
        "culprits_found_in_chain_only": 0, "unguarded": 2, "unguarded_certain": 1,
        "fixed": 2, "false_alarms": 1,
    }  # fmt: skip


def shop_with(tmp_path: Path, versions: dict[str, dict[str, str]]) -> Shop:
    """Sources that are here already, so that nothing is fetched."""
    for folder, files in versions.items():
        for name, text in files.items():
            path = tmp_path / "sources" / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "sources" / folder / places.MARKER).write_text('{"file": "x.tar.gz"}')
    return Shop(cases.Fetcher(tmp_path / "sources"), tmp_path / "scratch", tmp_path / "sources")


def test_a_case_is_run_on_both_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "import torch\n\nx = torch.cuda.init()\n"
    files = {"src/a/__init__.py": "", "src/a/m.py": text}
    shop = shop_with(tmp_path, {"a-1.0": files, "a-2.0": {**files, "src/a/m.py": text + "\n" * 3}})
    asked: list[tuple[str, str | None]] = []

    def check(target: Path, beside: Path | None = None, profile: str = "cuda", entries: object = ()) -> Any:
        asked.append((target.parents[1].name, None if beside is None else beside.name))
        verdict = "certain" if "1.0" in str(target) else "conditional"
        return {"findings": [finding("a/m.py", 3, verdict), finding("a/t.py", 1, test=True)]}

    monkeypatch.setattr(tool, "check", check)
    case = case_of([CULPRIT], beside=(Wanted("a", "1.0"),))
    result = cases.run(case, shop)
    assert asked == [("a-1.0", "beside-a-case-1.0"), ("a-2.0", "beside-a-case-2.0")]
    assert (result.failures, result.fixed_at_place, result.fixed_totals) == ((), "conditional", (0, 1))
    cases.show(result)
    assert capsys.readouterr().out == (
        "ok   a-case  (a 1.0, unguarded)\n"
        "       a/m.py:3-4: finding certain, in a chain certain\n"
        "       fixed in 2.0: conditional at the place, 0 certain and 1 conditional in all\n"
    )


def class_body_report(**more: Any) -> Any:
    steps = more.pop("steps", (("u.py", 56), ("i.py", 55), ("i.py", 35)))
    given = {"position": "class-body", "through": steps, **more}
    return {"findings": [finding(promises.FLASH_ATTN, 175, **given)]}


@pytest.mark.parametrize(
    ("report", "broken"),
    [
        (class_body_report(), []),
        (class_body_report(steps=(("u.py", 37), ("i.py", 57), ("i.py", 43))), []),
        (
            class_body_report(steps=(("u.py", 37), ("i.py", 55), ("i.py", 35))),
            ["chain (37, 55, 35) cannot execute"],
        ),
        (class_body_report(verdict="conditional", condition="x"), ["line 175 is conditional, if x"]),
        (class_body_report(position="module"), ["position module, not class-body"]),
        ({"findings": []}, [f"no finding at {promises.FLASH_ATTN}:175"]),
    ],
)
def test_the_class_body_promise(
    report: Any, broken: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "check", lambda *arguments, **words: report)
    shop = shop_with(tmp_path, {"vllm-0.11.0": {"vllm/__init__.py": ""}})
    assert promises.class_body(shop) == broken


def test_an_unknown_id_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cases.main(["--only", "no-such-case"]) == 2
    assert "no case or promise is called no-such-case" in capsys.readouterr().err
