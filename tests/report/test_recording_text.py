"""A recording in the terminal, compared whole."""

from __future__ import annotations

import re

from inline_snapshot import snapshot

from coldfork.report.recordings import text as report
from coldfork.report.shared.options import Options
from tests.report.recorded import AWAKE, COLD, Tape, cold, poisoned


def shown(tape: Tape, view: Options | None = None) -> str:
    return report.render(tape.read(), view or Options())


def test_a_cold_program() -> None:
    assert shown(cold()) == snapshot("""\
cold: no accelerator was woken

recorded: python serve.py --workers 2
          2026-11-21T10:00:00+00:00; Python 3.12.4, on virtual:h100

processes
  100 run: python serve.py
     0 s to 2.00 s, exit 0
     cuda cold

imports of 100: 3 modules, 1.25 s
     1.00 s  torch
     200 ms  └─ torch._C
     250 ms  app

next: coldfork check  (looks at the code that this run did not reach, too)
""")


def test_poisoned_workers_are_folded_when_they_fared_alike() -> None:
    assert shown(poisoned(9)) == snapshot("""\
poisoned: cuda was awake in process 100, and 9 processes forked from it cannot use it
  --> vllm/v1/attention/backends/flash_attn.py:175  in FlashAttentionMetadataBuilder
   1. imports engine
   2. imports vllm.v1.attention.backends.flash_attn  engine/__init__.py:3
   3. FlashAttentionMetadataBuilder                  vllm/v1/attention/backends/flash_attn.py:175
   4. get_flash_attn_version                         vllm/attention/utils/fa_utils.py:56
   5. calls torch.cuda.get_device_capability
   = cuda was woken (context) at 1.900 s in process 100, thread MainThread
   = forked while it was awake, and so poisoned: 101, 102, 103, 104, 105, 106 and 3 more

recorded: python serve.py --workers 2
          2026-11-21T10:00:00+00:00; Python 3.12.4, on virtual:h100

processes
  100 run: python serve.py
  │  0 s to 6.00 s, exit 1
  │  cuda awake (context) from 1.90 s
  ├─ 101 forked at 2.500 s by serve.py:12
  │     2.51 s to 3.40 s, exit 1
  │     cuda poisoned
  ├─ 102 forked at 2.600 s by serve.py:12
  │     2.61 s to 3.50 s, exit 1
  │     cuda poisoned
  ├─ 103 forked at 2.700 s by serve.py:12
  │     2.71 s to 3.60 s, exit 1
  │     cuda poisoned
  └─ … 6 more like these; --format json has them all

imports of 100: 5 modules, 1.90 s
     1.20 s  torch  starts-threads: libgomp: 8 threads
     300 ms  ├─ torch._C
     400 ms  └─ torch.nn
     700 ms  engine
     600 ms  └─ vllm.v1.attention.backends.flash_attn  wakes cuda

next: coldfork rule device-init-at-import  (says why that is a problem and what to write instead)
""")


def test_a_stream_that_knows_ascii_only() -> None:
    output = shown(poisoned(2), Options(encoding="ascii"))
    assert output.isascii()
    assert "|- 101 forked at 2.500 s by serve.py:12" in output
    assert "`- 102 forked at 2.600 s by serve.py:12" in output


def test_colour_adds_nothing_but_colour() -> None:
    coloured = shown(poisoned(2), Options(colour=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown(poisoned(2))


def test_source_lines_come_only_from_who_may_quote_them() -> None:
    quoted = shown(poisoned(1), Options(source=lambda path, line: f"line {line} of {path}"))
    assert "      line 175 of vllm/v1/attention/backends/flash_attn.py\n" in quoted
    assert "line 175 of" not in shown(poisoned(1))


def test_a_long_chain_is_shortened_in_its_middle() -> None:
    chain = [{"module": f"m{number}", "path": f"m{number}.py", "line": number} for number in range(30)]
    output = shown(Tape().process().wake(1.0, import_chain=chain).exit(2.0, states=AWAKE))
    assert "steps left out; --format json has them all" in output
    assert "imports m1 " in output
    assert "   33. calls torch.cuda.get_device_capability".strip() in output
    assert "imports m15" not in output


def test_thousands_of_imports_are_cut_down_to_those_that_matter() -> None:
    tape = Tape().process()
    for number in range(3000):
        tape.load(f"small{number}", 0.001 * number, 0.0005)
    tape.wake(3.05, module="late", import_chain=[{"module": "late", "path": "late.py", "line": 1}])
    tape.load("late", 3.04, 0.02).load("large", 4.0, 2.0)
    output = shown(tape.exit(9.0, states=AWAKE))
    assert "late  wakes cuda" in output
    assert "large" in output
    assert "2999 modules left out" in output or "modules left out" in output
    assert len(output.splitlines()) < 60


def test_a_deep_tree_of_processes_and_imports_is_no_trouble() -> None:
    tape = Tape().process()
    for number in range(1500):
        tape.fork(1.0 + number / 1e4, 101 + number, pid=100 + number, states=COLD)
        tape.process(1.0 + number / 1e4, 101 + number, 100 + number, "fork")
    depth = 2000
    for number in reversed(range(depth)):
        tape.load(f"m{number}", number / 1e6, 1.0, f"m{number - 1}" if number else None)
    output = shown(tape)
    assert "1600 forked" in output
    assert f"{depth} modules" in output


def test_what_a_hostile_recording_names_reaches_no_terminal_raw() -> None:
    tape = Tape(command=["python", "\x1b[2Jx\u202e"]).process()
    tape.wake(1.0, module="a\x07b", path="\x1b]0;x\x07.py", function="\x9bm", call="\r\nfake: line")
    tape.load("a\x07b", 0.5, 1.0)
    output = shown(tape.exit(2.0, states=AWAKE))
    assert all(character == "\n" or character.isprintable() for character in output)
    assert not any(line.startswith("fake") for line in output.splitlines())
