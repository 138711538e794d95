"""The outcome of a recording: cold only when everything was seen, and the right one blamed for the rest."""

from __future__ import annotations

from typing import Any

import pytest

from coldfork.report.recordings.summary.outcomes import Outcome, Standing, outcome
from coldfork.report.recordings.summary.phrases import steps
from tests.report.recorded import AWAKE, BACKEND, COLD, POISONED, Tape, cold, frame, poisoned, state


def of(tape: Tape) -> Outcome:
    return outcome(tape.read())


def test_cold() -> None:
    found = of(cold())
    assert (found.standing, found.headline) == (Standing.COLD, "no accelerator was woken")
    assert found.next_command == "coldfork check"
    assert found.doubts == ()


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("spoil", "doubt"),
    [
        (
            lambda tape: tape.event("cut", 1.9, reason="limit", dropped=3),
            "the recording was cut at 1.900 s (limit)",
        ),
        (
            lambda tape: tape.lines.append('{"event": "wake"}'),
            "1 line of the file could not be read and was skipped",
        ),
        (lambda tape: tape.fork(1.5, 101, states=COLD), "1 process was started and not watched"),
        (
            lambda tape: tape.fork(1.5, 101, states=COLD).process(1.6, 101, 100, "fork"),
            "the end of 1 process was not",
        ),
        (
            lambda tape: tape.event("trouble", 1.0, what="poll", detail="OSError: gone"),
            "the watcher failed in 1 place",
        ),
        (
            lambda tape: tape.event("weather", 1.0),
            "1 event of a kind that this version does not know was skipped",
        ),
        (
            lambda tape: tape.event(
                "state", 1.0, at="x", states=[state("xpu", "unknown", None, "no library")]
            ),
            "the state of xpu was unknown for a while: no library",
        ),
    ],
)
def test_nothing_is_called_cold_when_not_everything_was_seen(spoil: object, doubt: str) -> None:
    tape = cold()
    spoil(tape)  # type: ignore[operator]
    found = of(tape)
    assert found.standing is Standing.UNKNOWN
    assert any(sentence.startswith(doubt) for sentence in found.doubts), found.doubts


def test_a_file_that_ends_within_a_line_is_not_cold() -> None:
    tape = cold()
    tape.lines.append('{"event": "wa')
    content = tape.content[:-1]
    from coldfork.report.recordings.assembly import files

    found = outcome(files.recording(content.splitlines(keepends=True), "x"))
    assert found.standing is Standing.UNKNOWN
    assert found.doubts == ("the file ends in the middle of a line; it was read up to there",)


def test_another_program_and_another_runtime_leave_a_cold_verdict_on_devices() -> None:
    tape = cold()
    tape.event("spawn", 1.2, child=None, method="subprocess", command=["true"], stack=[], states=COLD)
    tape.event("state", 1.3, at="x", states=[state("openmp", "unknown", None, "libgomp does not say")])
    found = of(tape)
    assert found.standing is Standing.COLD
    assert found.notes == (
        "1 process ran another program, which was not watched",
        "whether openmp was awake is unknown: libgomp does not say",
    )


def test_a_wake_at_import() -> None:
    found = of(Tape().process().wake(1.0).exit(2.0, states=AWAKE))
    assert (found.standing, found.headline) == (
        Standing.WOKEN,
        f"cuda was woken (context) while {BACKEND} was imported",
    )
    assert found.wake is not None
    assert found.notes == ("no process was forked after that; one that is forked later cannot use it",)
    assert found.next_command == "coldfork rule device-init-at-import"


def test_a_wake_by_the_program_itself() -> None:
    tape = Tape().process().wake(1.0, module="__main__", path="serve.py", line=9, import_chain=[])
    found = of(tape.exit(2.0, states=AWAKE))
    assert found.headline == "cuda was woken (context) by serve.py:9"
    assert found.next_command == "coldfork check"


def test_a_wake_that_nobody_saw() -> None:
    found = of(Tape().process().exit(2.0, states=AWAKE))
    assert (found.standing, found.wake) == (Standing.WOKEN, None)
    assert found.headline == "cuda was found awake in process 100; what woke it was not seen"


def test_those_who_are_spawned_after_a_wake_are_safe() -> None:
    tape = Tape().process().wake(1.0)
    tape.event("spawn", 1.5, child=101, method="spawn", command=["python"], stack=[], states=AWAKE)
    tape.process(1.6, 101, 100, "spawn").exit(1.9, 101).exit(2.0, states=AWAKE)
    found = of(tape)
    assert found.standing is Standing.WOKEN
    assert found.notes == ("1 process spawned after that began fresh; none was forked",)


def test_poison_names_the_waker_in_the_process_that_was_forked() -> None:
    found = of(poisoned(2))
    assert found.standing is Standing.POISONED
    assert found.headline == "cuda was awake in process 100, and 2 processes forked from it cannot use it"
    assert found.wake is not None
    assert found.wake.waker is not None
    assert (found.wake.waker.line, [process.pid for process in found.poisoned]) == (175, [101, 102])


def test_a_wake_after_the_fork_is_not_to_blame() -> None:
    tape = Tape().process().event("state", 0.5, at="x", states=AWAKE).fork(1.0, 101).wake(2.0)
    tape.process(1.1, 101, 100, "fork", states=POISONED).exit(1.5, 101, states=POISONED)
    found = of(tape.exit(3.0, states=AWAKE))
    assert (found.standing, found.wake) == (Standing.POISONED, None)


def test_a_poisoned_grandchild_leads_to_the_first_waker() -> None:
    tape = Tape().process().wake(1.0).fork(2.0, 101)
    tape.process(2.01, 101, 100, "fork", states=POISONED).fork(2.5, 102, pid=101, states=POISONED)
    tape.process(2.51, 102, 101, "fork", states=POISONED)
    found = of(tape)
    assert found.wake_process is not None
    assert (found.wake_process.pid, len(found.poisoned)) == (100, 2)


def test_who_executes_another_program_escapes() -> None:
    tape = Tape().process().wake(1.0).fork(2.0, 101)
    tape.process(2.01, 101, 100, "fork", states=POISONED)
    tape.event("exec", 2.02, 101, command=["ls"], stack=[], states=POISONED)
    found = of(tape.exit(3.0, states=AWAKE))
    assert found.standing is Standing.WOKEN


def test_a_device_comes_before_a_runtime_that_survives_no_fork() -> None:
    told = [state("openmp", "poisoned", None, "forked"), *POISONED]
    tape = Tape().process().wake(1.0).fork(2.0, 101).process(2.01, 101, 100, "fork", states=told)
    assert of(tape).accelerator == "cuda"


def test_openmp_alone_is_no_woken_device_but_poisons_a_fork() -> None:
    awake = [*COLD, state("openmp", "awake", None, "8 threads")]
    assert of(Tape().process().exit(2.0, states=awake)).standing is Standing.COLD
    tape = Tape().process().event("state", 0.5, at="x", states=awake).fork(1.0, 101, states=awake)
    tape.process(1.1, 101, 100, "fork", states=[*COLD, state("openmp", "poisoned", None, "forked")])
    found = of(tape.exit(1.5, 101).exit(2.0, states=awake))
    assert (found.standing, found.accelerator) == (Standing.POISONED, "openmp")


def test_other_wakes_are_told_once_for_each_place() -> None:
    tape = Tape().process().wake(1.0).wake(1.1).wake(1.2, accelerator="jax", path="a.py", line=3)
    tape.event("process", 1.5, 101, ppid=100, how="spawn", states=COLD, command=[]).wake(1.6, 101)
    notes = of(tape.exit(2.0, states=AWAKE)).notes
    assert notes[1:] == ("jax was woken (context) too, by a.py:3 in process 100",)


def test_an_empty_recording_is_unknown() -> None:
    found = of(Tape())
    assert (found.standing, found.doubts) == (Standing.UNKNOWN, ("the recording holds no process",))


def test_a_wake_whose_line_is_not_known_leads_to_the_command_that_finds_it() -> None:
    found = of(Tape().process().wake(1.0, line=None, stack=[], call=None).exit(2.0, states=AWAKE))
    assert found.next_command == f"coldfork run --exact {BACKEND} ..."
    hostile = of(Tape().process().wake(1.0, module="a; rm -rf x", line=None).exit(2.0, states=AWAKE))
    assert hostile.next_command == "coldfork run --exact 'a; rm -rf x' ..."


def test_a_driver_and_then_a_context_are_both_told() -> None:
    tape = Tape().process().event("wake", 1.0, accelerator="cuda", level="driver", waker=None).wake(1.1)
    assert of(tape.exit(2.0, states=AWAKE)).notes[1].startswith("cuda was woken (context) too, by vllm/")


def test_the_chain_ends_at_the_call_that_is_known_by_name() -> None:
    stack = [
        frame("engine/backend.py", 4, "Builder"),
        frame("torch/cuda/__init__.py", 720, "get_device_capability"),
        frame("torch/cuda/__init__.py", 737, "get_device_properties"),
    ]
    found = of(Tape().process().wake(1.0, stack=stack).exit(2.0, states=AWAKE))
    assert found.wake is not None
    assert found.wake.waker is not None
    taken = steps(found.wake.waker)
    assert [(step.verb, step.symbol, step.place) for step in taken[2:]] == [
        ("", "Builder", "engine/backend.py:4"),
        ("calls", "torch.cuda.get_device_capability", ""),
    ]


def touching(*leaves: bool | None, **ending: object) -> Tape:
    """A child that was forked from an awake process and touched the device so often."""
    tape = Tape().process().wake(1.0)
    tape.fork(2.0, 101, purpose="plain", holds=[{"name": "cuda", "doubtful": False}])
    tape.process(2.01, 101, 100, "fork", states=POISONED)
    stack = [frame("serve.py", 40, "work"), frame("torch/cuda/__init__.py", 517, "_lazy_init")]
    for one in leaves:
        told = {} if one is None else {"leaves": one}
        tape.event("effect", 2.1, 101, kind="touches-poisoned", what="cuda", stack=stack, **told)
    if ending:
        tape.exit(2.2, 101, **ending)
    return tape.exit(3.0, states=AWAKE)


WENT_ON = "forked with cuda, 1 process touched it at serve.py:40, caught the error and went on: 101 ({})"


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("ending", "told"),
    [({"status": 0}, "exit 0"), ({"status": None, "signal": 15}, "killed by signal 15")],
)
def test_who_catches_the_error_and_ends_well_is_not_harmed(ending: dict[str, object], told: str) -> None:
    found = of(touching(False, **ending))
    assert found.standing is Standing.WOKEN
    assert found.notes[0] == WENT_ON.format(told)


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("leaves", "ending"),
    [
        ([False], {"status": 1}),
        ([False], {"status": None, "signal": 11}),
        ([False], {"status": None}),
        ([False], {}),
        ([False, True], {"status": 0}),
        # Recordings of earlier versions do not tell.
        ([None], {"status": 0}),
    ],
)
def test_who_fails_after_a_touch_is_harmed(leaves: list[bool | None], ending: dict[str, object]) -> None:
    found = of(touching(*leaves, **ending))
    assert found.standing is Standing.POISONED
    assert found.notes[0] == "cuda was touched in 1 process at serve.py:40: 101"


def test_who_goes_on_when_the_recording_ends_is_not_harmed_yet() -> None:
    found = of(touching(False).event("running", 3.1, 101))
    assert found.standing is Standing.WOKEN
    assert found.notes[0] == WENT_ON.format("still running")


HOLDS_CUDA: dict[str, Any] = {"purpose": "plain", "holds": [{"name": "cuda", "doubtful": False}]}


def test_who_only_sleeps_beside_one_that_touches_has_executed_nothing() -> None:
    tape = touching(True, status=1)
    tape.fork(2.0, 102, **HOLDS_CUDA).process(2.01, 102, 100, "fork", states=POISONED)
    found = of(tape.exit(2.9, 102, states=POISONED))
    assert (found.standing, [one.pid for one in found.poisoned]) == (Standing.POISONED, [101])
    assert found.escaped == ()
    assert found.notes[1] == (
        "1 process was forked with cuda: it fails if the child touches cuda, which was not seen"
    )


def test_who_executes_another_program_beside_one_that_touches_has_escaped() -> None:
    tape = touching(True, status=1)
    tape.fork(2.0, 102, **HOLDS_CUDA).process(2.01, 102, 100, "fork", states=POISONED)
    tape.event("exec", 2.02, 102, command=["ls"], stack=[], states=POISONED)
    found = of(tape.exit(2.9, 102, states=[]))
    assert ([one.pid for one in found.poisoned], [one.pid for one in found.escaped]) == ([101], [102])


def test_who_is_killed_before_it_ran_anything_leaves_no_doubt() -> None:
    tape = cold().fork(1.5, 101, states=COLD, start=7)
    found = of(tape.exit(1.6, 101, start=7, status=None, signal=15, states=[]))
    assert (found.standing, found.doubts) == (Standing.COLD, ())
    assert found.notes == ("1 process was killed right after the fork, and ran nothing",)


def test_who_was_killed_where_children_are_not_watched_leaves_one() -> None:
    tape = Tape(follow=False).process().exit(2.0).fork(1.5, 101, states=COLD, start=7)
    found = of(tape.exit(1.6, 101, start=7, status=None, signal=15, states=[]))
    assert found.standing is Standing.UNKNOWN


CLEARED = "it was started with its own environment, which lacks the variables that load coldfork"


def executing(**told: Any) -> Tape:
    """A forked child that calls exec."""
    tape = cold().fork(1.5, 101, states=COLD, start=7)
    tape.process(1.51, 101, 100, "fork", start=7)
    return tape.event("exec", 1.6, 101, command=["python", "-c", "1"], stack=[], states=COLD, **told)


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("told", "seen", "ended", "doubt"),
    [
        ({"python": "/bin/python", "hidden": CLEARED}, None, {}, f"/bin/python: {CLEARED}"),
        ({}, {"python": "/bin/python", "hidden": CLEARED}, {}, f"/bin/python: {CLEARED}"),
        ({}, None, {"python": "python3"}, "python3: it reported nothing"),
        ({"python": "/bin/python"}, None, {}, "/bin/python: it reported nothing"),
    ],
)
def test_a_python_that_a_child_became_and_that_is_not_watched_is_a_doubt(
    told: dict[str, Any], seen: dict[str, Any] | None, ended: dict[str, Any], doubt: str
) -> None:
    tape = executing(**told)
    if seen:
        tape.event("seen", 1.61, 101, ppid=100, start=7, command=["python"], became=True, **seen)
    recording = tape.exit(1.9, 101, start=7, states=[], **ended).read()
    found = outcome(recording)
    assert (found.standing, found.doubts) == (
        Standing.UNKNOWN,
        (f"1 process was started and not watched, which ran {doubt}",),
    )
    parent, child, executed = recording.processes
    assert (child.parent, executed.parent) == (parent.number, child.number)
    assert (child.ended, executed.ended, executed.status) == (False, True, 0)


def test_a_program_that_could_not_be_executed_clears_nothing() -> None:
    tape = Tape().process().wake(1.0).fork(2.0, 101, start=7, **HOLDS_CUDA)
    tape.process(2.01, 101, 100, "fork", states=POISONED, start=7)
    tape.event("exec", 2.02, 101, command=["no-such"], stack=[], states=POISONED)
    tape.event("effect", 2.1, 101, kind="touches-poisoned", what="cuda", stack=[], leaves=True)
    tape.event("seen", 2.03, 101, ppid=100, start=7, command=["python"], python="python3", became=True)
    found = of(tape.exit(2.2, 101, start=7, status=1, states=[]).exit(3.0, states=AWAKE))
    assert (found.standing, [one.pid for one in found.poisoned]) == (Standing.POISONED, [101])


def test_a_program_that_python_never_ran_is_not_cold() -> None:
    tape = Tape().process().event("exit", 1.0, status=None, signal=None, states=COLD, begun=False)
    found = of(tape.exit(1.1, status=2, states=[]))
    assert (found.standing, found.headline) == (
        Standing.UNKNOWN,
        "the program was not run, so nothing is known about it",
    )
    assert found.doubts == ("Python ended before it ran any of the program (exit 2)",)
