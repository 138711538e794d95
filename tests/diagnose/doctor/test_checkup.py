"""Running checks: all or some, in their order, whatever becomes of one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from coldfork.diagnose.doctor import registry
from coldfork.diagnose.doctor.driver import nvml
from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.launch.devices.management import Management
from coldfork.model.diagnosis import Answer, Health, fail, ok, together, warn
from coldfork.model.errors import UsageError
from tests.diagnose.doctor.machines import WORKING, Machine
from tests.diagnose.doctor.of_machines import refused
from tests.diagnose.doctor.of_packages import guarded_elsewhere
from tests.diagnose.doctor.of_settings import cgroup_2


def test_all_checks_run_in_the_order_of_the_list(tmp_path: Path) -> None:
    done = registry.examine((), Machine(tmp_path).facts)
    assert [result.name for result in done.results] == list(registry.folders())
    assert done.results[0].group == "Python"
    assert done.results[0].title == "Whether coldfork works with this Python, on this platform"
    assert done.python == str(tmp_path / "env/bin/python")
    assert done.asked == ()


def test_those_that_are_named_run_alone_and_once(tmp_path: Path) -> None:
    done = registry.examine(("nofile", "nvml", "nofile"), Machine(tmp_path).facts)
    assert [result.name for result in done.results] == ["nofile", "nvml"]
    assert done.asked == ("nofile", "nvml")


def test_a_group_is_all_its_checks(tmp_path: Path) -> None:
    done = registry.examine(("nofile", "limits"), Machine(tmp_path).facts)
    assert [result.name for result in done.results] == [
        "nofile",
        "dev-shm",
        "nproc",
        "memlock",
        "core",
        "cgroup",
    ]
    assert [
        result.name for result in registry.examine(("python",), Machine(tmp_path / "b").facts).results
    ] == ["python"]


def test_an_unknown_name_is_refused_with_the_near_one_before_anything_runs(tmp_path: Path) -> None:
    def never() -> Management:
        raise AssertionError("nothing may be asked")

    machine = Machine(tmp_path).having(ask_driver=never)
    with pytest.raises(UsageError, match="there is no check 'open-mp'; did you mean openmp"):
        registry.examine(("nvml", "open-mp"), machine.facts)
    with pytest.raises(UsageError, match="coldfork doctor --list-checks lists them"):
        registry.examine(("something-else-entirely",), machine.facts)


def test_a_check_that_crashes_is_skipped_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(facts: Facts) -> Answer:
        raise RuntimeError("it is broken")

    monkeypatch.setattr(nvml, "examine", crash)
    ticks = iter((0.0, 1.0, 5.0, 7.5))
    done = registry.examine(
        ("nvml", "nofile"), Machine(tmp_path).limit("NOFILE", 9000).facts, lambda: next(ticks)
    )
    crashed, well = done.results
    assert crashed.answer.health is Health.SKIPPED
    assert crashed.answer.message == "the check itself failed: RuntimeError: it is broken"
    assert (well.answer.health, crashed.seconds, well.seconds) == (Health.OK, 1.0, 2.5)


def test_the_driver_is_asked_once_for_all_checks(tmp_path: Path) -> None:
    asked = []

    def ask() -> Management:
        asked.append(1)
        return WORKING

    registry.examine((), Machine(tmp_path).driver().having(ask_driver=ask).facts)
    assert asked == [1]


def test_limits_alone_do_not_ask_the_driver(tmp_path: Path) -> None:
    def never() -> Management:
        raise AssertionError("nobody needs it")

    done = registry.examine(("nofile", "cgroup", "guard"), Machine(tmp_path).having(ask_driver=never).facts)
    assert not [one for one in done.results if "failed" in one.answer.message]


def test_several_troubles_are_one_answer_with_the_worst_first() -> None:
    said = together((warn("small", "more", details=["d"]), fail("gone", "mend it", "more")), ok("well"))
    assert said == fail("gone; small", "mend it", "more", details=["d"])
    assert together((), ok("well")) == ok("well")


def test_the_page_has_every_check_under_its_group() -> None:
    headings = [line for line in registry.page().splitlines() if line.startswith("##")]
    assert headings == [
        heading
        for group, names in registry.GROUPS.values()
        for heading in (f"## {group}", *(f"### {name}" for name in names))
    ]


@pytest.mark.parametrize("name", registry.folders())
def test_a_check_is_documented_in_sentences(name: str) -> None:
    module = registry.check(name)
    assert isinstance(module, ModuleType)
    first, blank, *_ = inspect.cleandoc(module.__doc__ or "").split("\n")
    assert first.endswith(".")
    assert blank == ""


def test_the_other_pythons_with_a_guard_are_named(tmp_path: Path) -> None:
    machine = guarded_elsewhere(Machine(tmp_path))
    answer = registry.check("guard").examine(machine.facts)
    (told,) = answer.details
    assert told.startswith("the fork guard is on, mode warn, in every program of ")
    python = machine.facts.python.executable
    assert answer.remedies == (f"coldfork guard install --python {python}",)


@pytest.mark.parametrize(
    ("check", "make", "remedies"),
    [
        (
            "nvml",
            refused(4, "x"),
            ["coldfork doctor device-files says which device files are closed to this user"],
        ),
        ("nvml", refused(9, "x"), ["look for NVRM and Xid in dmesg"]),
        ("nofile", lambda m: m.limit("NOFILE", 300, 5000), ["run ulimit -n 4096 before the program"]),
        ("nofile", lambda m: m.limit("NOFILE", 300, 400), ["raise the hard limit: limits.conf, LimitNOFILE"]),
        (
            "device-files",
            lambda m: m.driver().closed("/dev/nvidia0"),
            [("add this user to the file's group: ls -l /dev/nvidia0 shows it; run usermod -aG GROUP USER")],
        ),
        (
            "cgroup",
            lambda m: cgroup_2(m, cpu_max="50000 100000"),
            ["set OMP_NUM_THREADS to 1 divided by the number of processes"],
        ),
        (
            "torch",
            lambda m: m.torch().answers(cuda=11080),
            [
                "update the driver",
                "install the build of torch for CUDA 11.8: pytorch.org/get-started lists them",
            ],
        ),
    ],
)
def test_a_remedy_fits_the_trouble(
    check: str, make: Callable[[Machine], Machine], remedies: list[str], tmp_path: Path
) -> None:
    answer = registry.check(check).examine(make(Machine(tmp_path)).facts)
    assert list(answer.remedies) == remedies
