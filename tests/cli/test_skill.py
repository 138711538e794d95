"""`coldfork skill`: what it prints, where it installs it, and that its words are those of the records."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from coldfork.report.findings import agent

Run = Callable[..., Result]
MOST_LINES = 200


def test_it_has_a_head_and_is_short(run: Run) -> None:
    text = run("skill").stdout
    head = re.match(r"---\nname: coldfork\ndescription: (.+)\n---\n\n# ", text)
    assert head is not None
    assert len(head[1]) <= 1024  # more of a description is not read by those who list skills
    assert len(text.splitlines()) < MOST_LINES
    steps = re.findall(r"^## \d\. (\w+)$", text, re.MULTILINE)
    assert steps == ["Check", "Explain", "Fix", "Prove"]


def test_it_is_installed_where_it_is_asked_for(run: Run, project: Path) -> None:
    for _ in range(2):
        result = run("skill", "--install", "skills")
        assert (result.exit_code, result.stdout) == (0, "")
        assert "wrote" in result.stderr
    assert (project / "skills/coldfork/SKILL.md").read_text(encoding="utf-8") == run("skill").stdout
    (project / "file").touch()
    refused = run("skill", "--install", "file")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "cannot write" in refused.stderr


def test_it_names_fields_and_records_that_there_are(run: Run) -> None:
    written = Path(agent.__file__).read_text(encoding="utf-8")
    text = run("skill").stdout
    (table,) = re.findall(r"\| `record` .*?\n\n", text, re.DOTALL)
    records = re.findall(r"`([a-z-]+)`", "".join(row.split("|")[1] for row in table.strip().splitlines()[2:]))
    assert set(records) == set(re.findall(r'"record": "([a-z-]+)"', written))
    fields = re.findall(r"`([a-z_]+)`", text.partition("Fields of a `cause`:")[2].partition("\n\nExit")[0])
    known = set(re.findall(r'^ +"([a-z_]+)":', written, re.MULTILINE))
    assert {name for name in fields if name not in ("certain", "conditional", "possible")} <= known
    assert {"at", "verdict", "remedy", "next"} <= set(fields)
