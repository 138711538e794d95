"""Errors in the output of programs: of several processes at once, in colour, and one behind the other."""

from __future__ import annotations

from coldfork.launch.probe.proofs import PrintedError, printed_errors

PLAIN = """\
starting
Traceback (most recent call last):
  File "/a/run.py", line 9, in <module>
    main()
  File "/a/run.py", line 7, in main
    one.start()
    ~~~~~~~~~^^
_pickle.PicklingError: Can't pickle local object <function main.<locals>.work at 0x7f>. Oh dear.
ending
"""
BOOTSTRAPPING = """\
Traceback (most recent call last):
  File "/a/run.py", line 3, in <module>
    one.start()
RuntimeError:
        An attempt has been made to start a new process before the
        current process has finished its bootstrapping phase.

        This probably means that you are not using fork
"""


def test_the_error_its_message_and_its_lines() -> None:
    (error,) = printed_errors(PLAIN)
    assert error == PrintedError(
        "PicklingError",
        "Can't pickle local object <function main.<locals>.work at 0x7f>. Oh dear.",
        (("/a/run.py", 9), ("/a/run.py", 7)),
    )
    assert str(error) == "PicklingError: Can't pickle local object <function main.<locals>.work at 0x7f>"
    assert (error.is_of_pickling, error.is_of_bootstrapping) == (True, False)


def test_a_message_of_several_lines() -> None:
    for end in ("", "something else\n"):
        (error,) = printed_errors(BOOTSTRAPPING + end)
        assert error.is_of_bootstrapping
        assert str(error) == (
            "RuntimeError: An attempt has been made to start a new process before the current process has "
            "finished its bootstrapping phase"
        )


def test_colours_are_left_out() -> None:
    coloured = PLAIN.replace('"/a/run.py"', '\x1b[35m"/a/run.py"\x1b[0m').replace(
        "_pickle.PicklingError", "\x1b[1;35m_pickle.PicklingError\x1b[0m"
    )
    assert list(printed_errors(coloured)) == list(printed_errors(PLAIN))


def test_one_behind_the_other() -> None:
    between = "\nThe above exception was the direct cause of the following exception:\n\n"
    assert [error.name for error in printed_errors(BOOTSTRAPPING + between + PLAIN)] == [
        "RuntimeError",
        "PicklingError",
    ]


def test_two_processes_that_print_at_once() -> None:
    lines = BOOTSTRAPPING.splitlines(keepends=True)
    mixed = "".join(line for line in lines for _ in range(2))
    errors = list(printed_errors(mixed))
    assert ("/a/run.py", 3) in errors[0].frames
    assert errors[-1].is_of_bootstrapping


def test_what_only_looks_like_an_error() -> None:
    assert list(printed_errors("ValueError: no\nDone: 3\n")) == []


def test_where_a_process_was_started() -> None:
    frame = '  File "/lib/python3.14/multiprocessing/popen_spawn_posix.py", line 47, in _launch\n'
    (error,) = printed_errors(PLAIN.replace("_pickle", f"{frame}_pickle"))
    assert error.is_of_a_start
    assert not next(printed_errors(PLAIN)).is_of_a_start
