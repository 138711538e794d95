"""The pure parts of `./dev bench mend`, and one package mended as it does it."""

from __future__ import annotations

from pathlib import Path

from benchmarks import mend
from coldfork.model.causes import Audience
from published.sources import Wanted

RESULT = mend.Result("torch-scatter 2.0.6", 2, 1, 0, 2, 1, 4, 6, "line 14 reads `a|b`", ())


def test_lines_are_counted_on_both_sides() -> None:
    assert mend.changed_lines(b"a\nb\n\nc\n", b"a\nd\n\n\nc\n") == 2
    assert mend.changed_lines(b"a\r\n", b"a\r\n") == 0
    assert mend.naming(b"if x:\n    import bnb\n", b"import bnbx\n", {"bnb"}) == 1


def test_a_row_says_what_was_mended_and_why_the_rest_is_not() -> None:
    assert mend.table([RESULT]).splitlines()[-1] == (
        "| torch-scatter 2.0.6 | 2 | 1 | 1 | 4 | 6 | line 14 reads `a\\|b` |"
    )


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
