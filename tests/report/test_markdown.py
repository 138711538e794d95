"""Causes, shown edits and proofs as Markdown, and shown edits as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from inline_snapshot import snapshot

from coldfork.model.causes import Applicability, Edit, Fix
from coldfork.model.findings import Finding, Report
from coldfork.model.probes import (
    CommandEnd,
    ModuleProbe,
    ModuleProof,
    NameChange,
    Outcome,
    ProbeStatus,
    Proof,
    TestsProof,
)
from coldfork.model.states import Waker
from coldfork.report.findings import markdown, text
from coldfork.report.shared.options import Options

ReportMaker = Callable[..., Report]
COLD = ModuleProbe("engine.a", ProbeStatus.COLD, values={})
WOKEN = ModuleProbe(
    "engine.a",
    ProbeStatus.WOKEN,
    accelerator="cuda",
    waker=Waker("engine.a", "engine/a.py", 3, None, None, "MainThread"),
    values={},
)
FAILED = ModuleProbe("engine.a", ProbeStatus.FAILED, "the import failed with ValueError: a|b", values={})
CHANGE = NameChange("X", "True", None)


def shown(report: Report) -> Report:
    """The report with a fix of its cause that only its author can finish."""
    (cause,) = report.causes
    edits = (
        Edit("vllm/a.py", 3, 1, 4, 9, "def device():\n    return ...\n"),
        Edit("vllm/a.py", 9, 5, 9, 5, "device()"),
        Edit("vllm/a.py", 12, 1, 12, 20, ""),
    )
    fix = Fix(cause.id, Applicability.SHOWN, "which device it is only you know", edits)
    return replace(report, fixes={cause.id: fix})


def test_the_whole_output(report_of: ReportMaker, flash_attn: Finding) -> None:
    modules = (
        ModuleProof("engine.a", "engine/a.py", "", WOKEN, COLD, 3, 1, (replace(CHANGE, is_import=True),)),
        ModuleProof("engine.b", "engine/b.py", "", WOKEN, FAILED, 0, 0, (CHANGE,)),
        ModuleProof("engine.c", "engine/c.py", "it is a notebook"),
    )
    tests = TestsProof("pytest -q", CommandEnd(0, "3 passed"), CommandEnd(None, "ended by SIGSEGV"))
    proof = Proof("virtual:h100", 3, 1, modules, tests)
    report = replace(shown(report_of(flash_attn)), proof=proof)
    assert markdown.render(report, Options(version="0.1.0")) == snapshot("""\
### What the fixes change

3 causes mended, 1 left; 3 modules on virtual:h100: 1 proven, 1 refuted, 1 not testable.

| module | import before | import after | public names |
| --- | --- | --- | --- |
| `engine.a` | wakes cuda, by engine/a.py:3 | cold | 3 the same, 1 of the same type, 1 import moved |
| `engine.b` | wakes cuda, by engine/a.py:3 | failed: the import failed with ValueError: a\\|b | 0 the same, 1 differs |
| `engine.c` | not testable | not testable | it is a notebook |

- `engine.a.X` was bound by an import that has moved
- `engine.b.X` held `True` and is gone

| tests | before | after |
| --- | --- | --- |
| `pytest -q` | passed (3 passed) | ended by SIGSEGV |

_coldfork 0.1.0_

### coldfork check

1 cause: 1 certain; 945 modules (120 yours) in 1.23 s.

| line | what is found | how sure |
| --- | --- | --- |
| `vllm/v1/attention/backends/flash_attn.py:175` | **device-init-at-import**: importing vllm.v1.attention.backends.flash_attn wakes cuda; fix: by hand, from what is shown: which device it is only you know | certain |

in place of vllm/a.py:3:1 to 4:9, write:

~~~python
def device():
    return ...
~~~

before vllm/a.py:9:5, write:

~~~python
device()
~~~

take out vllm/a.py:12:1 to 20
""")


def test_text_shows_what_to_write_by_hand(report_of: ReportMaker, flash_attn: Finding) -> None:
    said = text.render(shown(report_of(flash_attn)), Options())
    assert said[said.index("   = fix: by hand") : said.index("   = help:")] == snapshot("""\
   = fix: by hand, from what is shown: which device it is only you know
      in place of vllm/a.py:3:1 to 4:9, write:
        def device():
            return ...
      before vllm/a.py:9:5, write:
        device()
      take out vllm/a.py:12:1 to 20
""")


def test_a_fix_is_proven_where_the_import_is_cold_and_the_names_hold_what_they_held() -> None:
    outcomes = [
        (WOKEN, COLD, Outcome.PROVEN),
        (COLD, COLD, Outcome.NOT_TESTABLE),
        (WOKEN, WOKEN, Outcome.REFUTED),
        (COLD, FAILED, Outcome.REFUTED),
        (WOKEN, FAILED, Outcome.REFUTED),
        (FAILED, FAILED, Outcome.NOT_TESTABLE),
        (WOKEN, replace(COLD, status=ProbeStatus.UNKNOWN), Outcome.NOT_TESTABLE),
    ]
    for before, after, outcome in outcomes:
        assert ModuleProof("engine.a", "engine/a.py", "", before, after).outcome is outcome
    changed = ModuleProof("engine.a", "engine/a.py", "", WOKEN, COLD, changes=(CHANGE,))
    moved = replace(changed, changes=(replace(CHANGE, is_import=True),))
    assert (changed.outcome, moved.outcome) == (Outcome.REFUTED, Outcome.PROVEN)
    passed, failed = CommandEnd(0, ""), CommandEnd(1, "")
    tests = [
        TestsProof("t", *ends).outcome for ends in ((failed, passed), (passed, failed), (failed, failed))
    ]
    assert tests == [Outcome.PROVEN, Outcome.REFUTED, Outcome.NOT_TESTABLE]
