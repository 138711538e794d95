"""The JSON of real probes against its schema, and the result of a probe that was cut off anywhere."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from coldfork.launch.plumbing.ask import environment
from coldfork.launch.probe.probe import ProbeRequest, probe
from coldfork.model.probes import Probing
from coldfork.observe import bootstrap
from coldfork.observe.recording import events
from coldfork.report.formats import FORMATS, renderer
from coldfork.report.probes import json_format
from coldfork.report.shared.options import Options

pytestmark = pytest.mark.once

WAKE = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
Make = Callable[..., Any]

OUTCOMES = {
    "cold": "X = 1",
    "woken": WAKE,
    "woken_context": (
        "import ctypes\ncuda = ctypes.CDLL('libcuda.so.1')\ncuda.cuInit(0)\n"
        "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0)"
    ),
    "woken_and_failed": f"{WAKE}\nraise ValueError('\\udcff odd \\0 text')",
    "failed": "print('said')\nimport nothing_of_this_name",
    "exits": "import os; os._exit(3)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "on_a_thread": (
        "import ctypes, threading\ndriver = ctypes.CDLL('libcuda.so.1')\n"
        "threading.Thread(target=driver.cuInit, args=(0,)).start()"
    ),
    "from_text": "exec(compile('import ctypes; ctypes.CDLL(\"libcuda.so.1\").cuInit(0)', '<made>', 'exec'))",
    "several": f"import threading\n{WAKE}\nthreading.Thread(target=print, daemon=True).start()",
}


def schema() -> dict[str, Any]:
    text = files("coldfork.report").joinpath("schemas/probe.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("forked", [False, True])
def test_what_real_probes_print_is_what_the_schema_says(
    write: Make, surroundings: Make, *, forked: bool
) -> None:
    write(**{f"case_{name}": text for name, text in OUTCOMES.items()})
    names = (*(f"case_{name}" for name in OUTCOMES), "nowhere.at_all")
    result = probe(ProbeRequest(names, surroundings(forked=forked), jobs=2))
    printed = json.loads(json_format.render(result, Options(version="0.1.0")))
    described = schema()
    Draft202012Validator(described).validate(printed)
    seen = {module["module"]: module["status"] for module in printed["modules"]}
    expected = {
        "cold": "cold",
        "failed": "failed",
        "exits": "failed",
        "crashes": "failed",
    }
    assert seen.pop("nowhere.at_all") == "failed"
    assert seen == {f"case_{name}": expected.get(name, "woken") for name in OUTCOMES}
    # Every key is always there, in the order of the schema.
    module = described["$defs"]["module"]
    assert list(printed) == described["required"] == list(described["properties"])
    for one in printed["modules"]:
        assert list(one) == module["required"] == list(module["properties"])


def interrupted(write: Make, surroundings: Make) -> Probing:
    """A probe that somebody interrupts once the first module has been told of."""
    write(first=WAKE, second="", third="")

    def interrupt(_stage: str, done: int, *_: object) -> None:
        if done:
            raise KeyboardInterrupt

    result = probe(ProbeRequest(("first", "second", "third"), surroundings(), jobs=1), interrupt)
    assert result.modules[0].module == "first"
    assert result.left[-1] == "third"
    return result


def test_every_format_says_that_it_was_interrupted_and_what_is_left(write: Make, surroundings: Make) -> None:
    result = interrupted(write, surroundings)
    said = {form: renderer("probe", form)(result, Options(version="0.1.0")) for form in FORMATS["probe"]}
    left = list(result.left)
    document = json.loads(said["json"])
    Draft202012Validator(schema()).validate(document)
    assert (document["interrupted"], document["left"]) == (True, left)
    last = said["text"].splitlines()[-1]
    assert last.startswith("interrupted: nothing is known about ")
    assert last.endswith(", ".join(left))
    assert said["concise"].splitlines()[-1] == "third: interrupted: nothing is known about it"
    warning = said["github"].splitlines()[-1]
    assert warning == f"::warning title=coldfork%3A probe::{last}"
    cases = ET.fromstring(said["junit"]).findall("testsuite/testcase")
    assert [case.get("name") for case in cases if case.find("skipped") is not None] == left
    (invocation,) = json.loads(said["sarif"])["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == len(left)


def test_many_modules_that_are_left_are_counted(write: Make, surroundings: Make) -> None:
    result = replace(interrupted(write, surroundings), left=tuple(f"m{number}" for number in range(9)))
    assert renderer("probe", "text")(result, Options()).splitlines()[-1] == (
        "interrupted: nothing is known about 9 modules: m0, m1, m2, m3 and 5 more"
    )
    whole = renderer("probe", "text")(replace(result, left=()), Options()).splitlines()[-1]
    assert whole == "interrupted: every module had been imported by then"


def test_a_result_that_was_cut_off_is_read_up_to_the_cut(
    write: Make, surroundings: Make, tmp_path: Path
) -> None:
    """Whoever kills a probe may do so in the middle of a line."""
    write(engine=f"import json, string\n{WAKE}\n")
    result = tmp_path / "result"
    setup = surroundings()
    told = {"mode": "probe", "module": "engine", "result": str(result), "stage2": ["engine"]}
    subprocess.run(
        bootstrap.command(setup.python),
        env=environment(told, setup.base, virtual="h100"),
        check=True,
        timeout=60,
    )
    content = result.read_bytes()
    whole, _ = events.read(content)
    assert [event["event"] for event in whole][-1] == "result"
    assert any(event["event"] == "wake" for event in whole)
    ends = [at for at in range(len(content)) if content[at : at + 1] == b"\n"]
    for cut in range(len(content)):
        read, _ = events.read(content[:cut])
        complete = sum(end < cut for end in ends)
        # The last line may be whole without its end.
        assert read in (whole[:complete], whole[: complete + 1])
