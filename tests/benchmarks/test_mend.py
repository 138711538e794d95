"""The pure parts of `./dev bench mend`, and one package mended as it does it."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from benchmarks import fixespage, launched, mend
from coldfork.model.causes import Audience
from published.sources import Wanted

RESULT = fixespage.Result("torch-scatter 2.0.6", 2, 1, 0, 2, 1, 1, 4, 6, 1, 3, "line 14 reads `a|b`", ())
LAUNCH = launched.Launch(
    "engine-setting", "start-method-in-library", "engine", "1", "engine", "engine/a.py", ("set_start_method",)
)
SETTING = """\
import multiprocessing

multiprocessing.set_start_method("spawn")


def make():
    return multiprocessing.Process(target=print)
"""


def test_lines_are_counted_on_both_sides() -> None:
    assert mend.changed_lines(b"a\nb\n\nc\n", b"a\nd\n\n\nc\n") == 2
    assert mend.changed_lines(b"a\r\n", b"a\r\n") == 0
    assert mend.naming(b"if x:\n    import bnb\n", b"import bnbx\n", {"bnb"}) == 1


def test_a_row_says_what_was_mended_and_why_the_rest_is_not() -> None:
    assert fixespage.table([RESULT]).splitlines()[-1] == (
        "| torch-scatter 2.0.6 | 2 | 1 | 1 | 1 of 3 | 4 | 6 | line 14 reads `a\\|b` |"
    )


def test_a_part_of_the_page_is_written_and_the_others_are_left(tmp_path: Path) -> None:
    page = tmp_path / "fixes.md"
    fixespage.write(page, "cases", fixespage.of_cases([RESULT]))
    cases = page.read_text(encoding="utf-8")
    other = fixespage.Result("engine 1", 3, 1, 1, 2, 2, 1, 4, None, 0, 1, "it waits", ("1 new causes",))
    idle = fixespage.Result("idle 2", 0, 0, 0, 0, 0, 0, 0, None, 0, 0, "", ())
    fixespage.write(page, "others", fixespage.of_others([other, idle]))
    both = page.read_text(encoding="utf-8")
    assert both.startswith(cases)
    assert "| engine 1 | 3, 2 | 2, 2 | 1, 1 | it waits |" in both
    assert "| all, with 1 that have no cause | 3, 2 | 2, 2 | 1, 1 | |" in both
    assert "- engine 1: 1 new causes" in both
    left = launched.Launched(LAUNCH, "shown", "it is a|b")
    fixespage.write(page, "launched", fixespage.of_launched([left]))
    whole = page.read_text(encoding="utf-8")
    assert "| engine 1 | `start-method-in-library` | shown |  |  | it is a\\|b |" in whole
    aside = replace(left, case=replace(LAUNCH, kept_back=True, taught=True))
    assert "| engine 1\\* | `start-method-in-library` |" in fixespage.of_launched([left, aside])
    assert whole.index("Starts of processes") < whole.index("Other packages")
    for part, text in (
        ("cases", fixespage.of_cases([RESULT])),
        ("launched", fixespage.of_launched([left])),
        ("others", fixespage.of_others([other, idle])),
    ):
        fixespage.write(page, part, text)
        assert page.read_text(encoding="utf-8") == whole


def test_a_fault_is_mended_shown_or_not_found(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("", encoding="utf-8")
    file = tmp_path / "engine" / "a.py"
    seen = []
    for text in (SETTING, SETTING.replace("multiprocessing.Process(target=print)", "1"), ""):
        file.write_text(text, encoding="utf-8")
        seen.append(launched.of_launch(LAUNCH, lambda wanted: tmp_path, tmp_path, mend.naming))
    written, shown, unseen = seen
    assert (written.fix, written.ours, written.theirs) == ("written", 1, None)
    assert "its import is cold" in written.proof
    assert (shown.fix, shown.reason) == (
        "shown",
        'everything that relies on the method "spawn" is made in other modules',
    )
    assert unseen.fix == "not found"
    assert launched.summary(seen) == (
        "Of 3 faults 1 are mended, 1 of them proven; for 1 the edit is\nshown with the step that is left to "
        "the author; 1 are not found."
    )


def test_the_table_of_faults_can_be_read() -> None:
    faults = launched.load()
    assert sum(not one.kept_back for one in faults) == 10
    assert all(one.kept_back for one in faults if one.taught)
    assert all(one.names and one.path.startswith(one.top) for one in faults)


def test_a_version_is_mended_in_memory_and_looked_at_again(tmp_path: Path) -> None:
    root = tmp_path / "engine-1"
    (root / "engine").mkdir(parents=True)
    (root / "engine" / "__init__.py").write_text("", encoding="utf-8")
    text = "import torch\n\n\ndef f(x: bool = torch.cuda.is_available()):\n    return x\n"
    (root / "engine" / "a.py").write_text(text, encoding="utf-8")
    (tmp_path / "beside").mkdir()
    measured = mend.measure(root, ("engine",), tmp_path / "beside", None)
    assert measured.troubles == ()
    assert list(measured.audiences.values()) == [Audience.LIBRARY]
    result = mend._result(Wanted.parse("engine==1"), measured, set(), (4, None))
    # An import proves something only where there is a torch to import.
    assert (result.proven, result.changed) == (int(find_spec("torch") is not None), 1)
    assert (result.causes, result.safe, result.unsafe, result.library_safe) == (1, 1, 0, 1)
    assert (root / "engine" / "a.py").read_text(encoding="utf-8") == text
