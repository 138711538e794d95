"""The things that count as remembered."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from coldfork.launch.preload.trying.variables import imprint
from tests.launch.preload.conftest import Fill

pytestmark = pytest.mark.once

SAME = "import os\n\nown_found = os.environ.get('OWN')\nIS_LAST = own_found == 'never'\n"


@pytest.mark.parametrize(
    ("text", "remembers"),
    [
        (SAME, False),
        ("import os\n\nVALUE = os.environ.get('OWN')\n", True),
        ("import os\n\nVALUES = {'own': [os.environ.get('OWN')]}\n", True),
        (f"{SAME}\n\ndef ask():\n    return own_found\n", True),
        (f"{SAME}\nask = lambda: own_found\n", True),
        ("import os\n\nCOUNT = len(os.environ.get('OWN', '')) or None\n", True),
        (
            "import os\n\nOWN = object()\nNAME = 'x' if os.environ.get('OWN') else 'x'\n",
            False,
        ),
    ],
)
def test_what_a_module_keeps_counts_and_not_what_it_used_on_its_way(
    text: str, remembers: bool, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fill({"imprinted": text})
    first, second = (_imprint(folder, value, monkeypatch) for value in (None, "1"))
    assert (first != second) is remembers


def test_what_another_module_asks_for_counts(fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill(
        {"imprinted": SAME, "asking": "import imprinted\n\n\ndef ask():\n    return imprinted.own_found\n"}
    )
    assert _imprint(folder, None, monkeypatch, "asking") != _imprint(folder, "1", monkeypatch, "asking")


def _imprint(folder: Path, value: str | None, monkeypatch: pytest.MonkeyPatch, *others: str) -> str:
    with monkeypatch.context() as patch:
        patch.syspath_prepend(folder)
        if value is None:
            patch.delenv("OWN", raising=False)
        else:
            patch.setenv("OWN", value)
        try:
            for name in ("imprinted", *others):
                __import__(name)
            return imprint("imprinted")
        finally:
            for name in ("imprinted", *others):
                sys.modules.pop(name, None)
