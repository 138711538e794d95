"""Writes the differences in the rules' pages anew: each begins as it stands, and ends as it is mended."""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path

from coldfork.checking.request import configured
from coldfork.checking.session import CheckSession
from coldfork.mending.mender import Mending, mend
from coldfork.mending.patch import patch
from coldfork.model.causes import Applicability

_BLOCK = re.compile(r"^(?P<said>[^\n]*):\n\n```diff\n(?P<rows>.*?)^```$", re.MULTILINE | re.DOTALL)
_SAFE = "It is safe"
_UNSAFE = "It takes `--fix=unsafe`, because "
_ALL = 1_000
_QUOTES, _ESCAPED = '"""', r"\"\"\""


def renewed(text: str) -> str:
    """A page with its differences, and the clause before each that says who may apply it, as they are now."""
    return _BLOCK.sub(lambda found: _block(_before(found["rows"])), text)


def renewed_module(text: str) -> str:
    """The same for a module whose docstring is the page, in which its own quotes are escaped."""
    written = renewed(text.replace(_ESCAPED, _QUOTES))
    head, page, rest = written[:3], *written[3:].rpartition('\n"""\n\nfrom __future__')[::2]
    return f'{head}{page.replace(_QUOTES, _ESCAPED)}\n"""\n\nfrom __future__{rest}'


def _before(rows: str) -> str:
    """The file that a difference begins with."""
    return "".join(row[1:] or "\n" for row in rows.splitlines(keepends=True) if not row.startswith("+"))


@cache
def _block(before: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "engine", "core.py")
        file.parent.mkdir()
        file.write_text(before, encoding="utf-8")
        nothing = Path(folder, "nothing")
        nothing.mkdir()
        request = configured((file,), {"site-packages": (str(nothing),)}, {})
        with CheckSession(cache=False) as session:
            done = mend(request, session.inspect, Applicability.UNSAFE)
    if not done.files:
        raise SystemExit(f"nothing in this file is mended:\n\n{before}")
    rows = patch(done.files, lambda _: "core.py", _ALL).decode().splitlines(keepends=True)[3:]
    written = "".join("\n" if row == " \n" else row for row in rows)
    return f"{_clause(done)}:\n\n```diff\n{written}```"


def _clause(done: Mending) -> str:
    reasons = [fix.reason for fix in done.mended if fix.applicability is not Applicability.SAFE]
    return _UNSAFE + reasons[0] if reasons else _SAFE
