"""A script that fails in a known way is told with the cause and the remedy of the table of troubles."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import coldfork
from coldfork.knowledge.troubles import TROUBLES
from coldfork.launch.script.result import quoted, troubles_of
from tests.launch.scripting import Bench
from tests.launch.sidebyside import said_by

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]

TWICE = """
import multiprocessing
try:
    for _ in range(2):
        multiprocessing.set_start_method("spawn")
except RuntimeError as error:
    raise SystemError("the engine did not start") from error
"""
BY_NAME = {trouble.name: trouble for trouble in TROUBLES}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_trouble_is_found_in_what_the_exception_came_from_and_is_quoted(bench: Bench) -> None:
    with pytest.raises(coldfork.ScriptError) as caught:
        bench.run(TWICE, check=True)
    trouble = BY_NAME["context-already-set"]
    assert caught.value.result.troubles == (trouble,)
    first, *quotes = str(caught.value).splitlines()
    assert first.startswith("the script ended with status 1 (SystemError: the engine did not start); ")
    assert quotes == [quoted(trouble)]


def test_a_trouble_of_a_worker_is_found_in_the_errors(bench: Bench) -> None:
    """The script itself ends well, and its worker has failed."""
    result = bench.run(
        """
        import multiprocessing

        def engine():
            multiprocessing.Process(target=print).start()

        if __name__ == "__main__":
            worker = multiprocessing.Process(target=engine, daemon=True)
            worker.start()
            worker.join()
        """
    )
    assert (result.exception, [trouble.name for trouble in result.troubles]) == (None, ["daemonic"])


def test_an_ordinary_failure_is_no_trouble(bench: Bench) -> None:
    result = bench.run("raise ValueError('no')")
    assert result.troubles == ()
    assert "\n" not in str(coldfork.ScriptError(result))


def test_exec_quotes_what_ended_the_script(bench: Bench) -> None:
    bench.write(TWICE)
    words = [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", "runs"]
    told = said_by([*words, "--", "script.py"], bench.folder)
    assert told.errors.splitlines()[-1] == f"coldfork: {quoted(BY_NAME['context-already-set'])}"
    assert (
        quoted(BY_NAME["context-already-set"])
        not in said_by([*words, "--quiet", "--", "script.py"], bench.folder).errors
    )


def test_a_quote_says_all_there_is() -> None:
    for trouble in TROUBLES:
        said = quoted(trouble)
        assert said.startswith(f"{trouble.name}: {trouble.cause} {trouble.remedy}")
        assert said.endswith(trouble.command or trouble.remedy)


def test_only_the_end_of_a_long_output_is_looked_at() -> None:
    sign = json.dumps("context has already been set")
    assert [one.name for one in troubles_of(None, "x" * 1_000_000 + sign)] == ["context-already-set"]
    assert troubles_of(None, sign + "x" * 1_000_000) == ()
