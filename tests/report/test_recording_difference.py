"""Two recordings against each other: what came, what went, what takes longer."""

from __future__ import annotations

from inline_snapshot import snapshot

from coldfork.report.recordings.difference import text as difference_text
from coldfork.report.recordings.difference.comparison import Difference, difference
from coldfork.report.shared.options import Options
from tests.report.recorded import AWAKE, COLD, Tape, cold, poisoned


def found(before: Tape, after: Tape) -> Difference:
    return difference(before.read("before.coldfork"), after.read("after.coldfork"))


def mended() -> Tape:
    """The server of `poisoned`, with the backend imported later and the workers spawned."""
    tape = Tape().process()
    tape.load("torch._C", 0.12, 0.3, "torch").load("torch.nn", 0.5, 0.4, "torch").load("torch", 0.1, 1.5)
    tape.load("lazy.loading", 1.7, 0.05, "lazy").load("lazy", 1.7, 0.1, "engine").load("engine", 1.65, 0.2)
    for index in range(2):
        at = 2.5 + 0.1 * index
        stack = [{"path": "serve.py", "line": 14, "function": "start_workers"}]
        tape.event(
            "spawn", at, child=101 + index, method="spawn", command=["python"], stack=stack, states=COLD
        )
        tape.process(at + 0.1, 101 + index, 100, "spawn").exit(at + 0.9, 101 + index)
    return tape.exit(6.0)


def test_the_same_recording_does_not_differ() -> None:
    same = found(poisoned(2), poisoned(2))
    assert same.same
    assert same.times == ()
    assert difference_text.render(poisoned(2).read(), poisoned(2).read(), Options()).endswith(
        "nothing but times differs\n"
    )


def test_a_mended_program_against_the_broken_one() -> None:
    text = difference_text.render(
        poisoned(2).read("before.coldfork"), mended().read("after.coldfork"), Options()
    )
    assert text == snapshot("""\
before  before.coldfork: poisoned: cuda was awake in process 100, and 2 processes forked from it cannot use it
after   after.coldfork: cold: no accelerator was woken

wakes
  - cuda was woken (context) by vllm/v1/attention/backends/flash_attn.py:175 in FlashAttentionMetadataBuilder, through engine > vllm.v1.attention.backends.flash_attn

forks and other starts
  2 -> 0  forked by serve.py in start_workers, cuda poisoned
  0 -> 2  spawned by serve.py in start_workers

states at the end
  first process
    cuda awake (context) -> cuda cold
  first process > forked by serve.py in start_workers
    cuda poisoned in 2 of 2 -> no such process
  first process > spawned by serve.py in start_workers
    no such process -> cuda cold in 2 of 2

imports: 5 -> 6 modules, 1.90 s -> 1.70 s in the first process
  - vllm.v1.attention.backends.flash_attn, imported by engine
  + lazy, imported by engine, with 1 module below it

own import times
    +300 ms  torch  500 ms -> 800 ms
""")


def test_lines_that_moved_are_the_same_wake_and_the_same_fork() -> None:
    before = Tape().process().wake(1.0, line=175).fork(2.0, 101, line=12).exit(3.0, states=AWAKE)
    after = Tape().process().wake(1.1, line=190).fork(2.1, 105, line=15).exit(3.0, states=AWAKE)
    assert found(before, after).same


def test_a_wake_that_became_deeper_is_another() -> None:
    before = Tape().process().event("wake", 1.0, accelerator="cuda", level="driver", waker=None)
    after = Tape().process().event("wake", 1.0, accelerator="cuda", level="context", waker=None)
    change = found(before, after)
    assert (len(change.wakes_gone), len(change.wakes_new)) == (1, 1)


def test_another_number_of_the_same_forks() -> None:
    (change,) = found(poisoned(2), poisoned(5)).starts
    assert (change.what, change.before, change.after) == (
        "forked by serve.py in start_workers, cuda poisoned",
        2,
        5,
    )


def test_small_and_relative_changes_of_time_are_noise() -> None:
    before = Tape().process().load("a", 0.0, 0.0001).load("b", 0.1, 1.0).load("c", 2.0, 0.1).exit(9.0)
    after = Tape().process().load("a", 0.0, 0.0009).load("b", 0.1, 1.05).load("c", 2.0, 0.2).exit(9.0)
    assert [change.module for change in found(before, after).times] == ["c"]


def test_a_module_that_another_one_imports_first_now() -> None:
    before = Tape().process().load("numpy", 0.2, 0.1, "torch").load("torch", 0.1, 0.5).exit(1.0)
    after = Tape().process().load("numpy", 0.05, 0.1).load("torch", 0.2, 0.5).exit(1.0)
    ((old, new),) = found(before, after).importers
    assert (old.module, old.importer, new.importer) == ("numpy", "torch", None)


def test_doubts_of_either_recording_are_said() -> None:
    cut = cold()
    cut.event("cut", 1.9, reason="limit", dropped=1)
    text = difference_text.render(cold().read(), cut.read(), Options())
    assert "! after: the recording was cut at 1.900 s (limit); 1 event dropped" in text


def test_thousands_of_new_modules_are_counted_and_not_listed() -> None:
    before = cold()
    after = cold()
    for number in range(3000):
        after.load(f"new{number}", 2.0 + number / 1e4, 1e-5)
    change = found(before, after)
    assert len(change.imports_new) == 3000
    text = difference_text.render(before.read(), after.read(), Options())
    assert "2985 more; --format json has them all" in text
