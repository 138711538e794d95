"""Signals have the names that Python's own `signal` gives them."""

from __future__ import annotations

import signal

from coldfork.launch.plumbing.linux.kernel import signal_name


def test_every_signal_has_its_usual_name() -> None:
    named = {int(number): number.name for number in signal.Signals}
    for number in map(int, signal.valid_signals()):
        assert signal_name(number) == named.get(number, f"signal {number}")


def test_a_number_that_is_no_signal() -> None:
    assert signal_name(250) == "signal 250"
