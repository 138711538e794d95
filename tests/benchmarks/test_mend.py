"""The pure parts of `./dev bench mend`, and one package mended as it does it."""

from __future__ import annotations

from pathlib import Path

from benchmarks import mend
from coldfork.model.causes import Audience
from published.sources import Wanted

RESULT = mend.Result("torch-scatter 2.0.6", 2, 1, 0, 2, 1, 1, 4, 6, "line 14 reads `a|b`", ())


def test_lines_are_counted_on_both_sides() -> None:
    assert mend.changed_lines(b"a\nb\n\nc\n", b"a\nd\n\n\nc\n") == 2
    assert mend.changed_lines(b"a\r\n", b"a\r\n") == 0
    assert mend.naming(b"if x:\n    import bnb\n", b"import bnbx\n", {"bnb"}) == 1


def test_a_row_says_what_was_mended_and_why_the_rest_is_not() -> None:
    assert mend.table([RESULT]).splitlines()[-1] == (
        "| torch-scatter 2.0.6 | 2 | 1 | 1 | 4 | 6 | line 14 reads `a\\|b` |"
    )


def test_a_part_of_the_page_is_written_and_the_other_is_left(tmp_path: Path) -> None:
    page = tmp_path / "fixes.md"
    mend._write(page, [RESULT], are_cases=True)
    cases = page.read_text(encoding="utf-8")
    other = mend.Result("engine 1", 3, 1, 1, 2, 2, 1, 4, None, "it waits", ("1 new causes",))
    mend._write(page, [other, mend.Result("idle 2", 0, 0, 0, 0, 0, 0, 0, None, "", ())], are_cases=False)
    both = page.read_text(encoding="utf-8")
    assert both.startswith(cases)
    assert "| engine 1 | 3, 2 | 2, 2 | 1, 1 | it waits |" in both
    assert "| all, with 1 that have no cause | 3, 2 | 2, 2 | 1, 1 | |" in both
    assert "- engine 1: 1 new causes" in both
    mend._write(page, [RESULT], are_cases=True)
    assert page.read_text(encoding="utf-8") == both


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
    assert (result.causes, result.safe, result.unsafe, result.library_safe) == (1, 1, 0, 1)
    assert (root / "engine" / "a.py").read_text(encoding="utf-8") == text
