"""An extension that was built against another PyTorch."""

from __future__ import annotations

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

SAID = raised(
    "ImportError: /srv/flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE"
)
OTHER = raised("ImportError: /usr/lib/libpq.so.5: undefined symbol: EVP_MD_CTX_new")


def test_the_words_are_recognised() -> None:
    story = only_story(f"loading the model\n{SAID}")
    assert (story.name, story.confidence) == ("binary-mismatch", Confidence.CERTAIN)
    assert story.remedies


def test_words_that_are_alike_are_no_story() -> None:
    assert names(OTHER) == []


def test_the_line_that_imports_the_extension_is_the_culprit() -> None:
    calls = (
        'File "/srv/app/train.py", line 3, in <module>',
        'File "/v/site-packages/flash_attn/__init__.py", line 3, in <module>',
        'File "/v/site-packages/flash_attn/flash_attn_interface.py", line 15, in <module>',
    )
    place = only_story(raised(SAID.splitlines()[-1], *calls)).culprit
    assert place is not None
    assert (place.path.rpartition("/")[2], place.line) == ("flash_attn_interface.py", 15)
