"""Each check on machines that are made up: every outcome that its page names, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import coldfork.diagnose.doctor
from coldfork.diagnose.doctor import registry
from coldfork.model.diagnosis import Health
from tests.diagnose.doctor.machines import Case, Machine
from tests.diagnose.doctor.of_machines import DRIVER, PYTHON
from tests.diagnose.doctor.of_packages import OWN, PACKAGES
from tests.diagnose.doctor.of_settings import LIMITS, SETTINGS

CASES: tuple[Case, ...] = (*PYTHON, *DRIVER, *PACKAGES, *SETTINGS, *LIMITS, *OWN)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.health}-{case.message[:40]}")
def test_a_check_says_what_is_so(case: Case, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    case.make(machine)
    answer = registry.check(case.check).examine(machine.facts)
    said = answer.message.replace(str(machine.site), "SITE").replace(str(tmp_path / "env"), "ENV")
    assert (answer.health, said) == (case.health, case.message)
    assert bool(answer.remedies) == (case.health in (Health.WARN, Health.FAIL))


@pytest.mark.parametrize("name", registry.folders())
def test_every_outcome_that_a_page_names_has_a_case_and_no_other(name: str) -> None:
    text = registry.check(name).__doc__ or ""
    promised = set(re.findall(r"^- \*\*(\w+)\*\*", text, re.MULTILINE))
    assert {case.health.value for case in CASES if case.check == name} == promised
    denied = {
        "warn": "never warns" in text,
        "fail": "never fails" in text,
        "skipped": "never skipped" in text,
        "ok": False,
    }
    assert {outcome for outcome, said in denied.items() if said} == {*denied} - promised


def test_every_module_of_a_check_is_in_the_list() -> None:
    room = Path(coldfork.diagnose.doctor.__path__[0])
    there = {
        f"{folder}/{path.stem}"
        for folder in registry.GROUPS
        for path in (room / folder).glob("*.py")
        if "def examine(" in path.read_text(encoding="utf-8")
    }
    assert there == {f"{folder}/{name.replace('-', '_')}" for name, folder in registry.folders().items()}
