"""The output of `coldfork preload` in each format, line for line."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from coldfork.model.preloads import Doubt, Kept, LeftOut, Preloading, Stain, VariableUse
from coldfork.model.states import Frame, ImportSite
from coldfork.report.formats import renderer
from coldfork.report.preloads.text import foot, head
from coldfork.report.shared.options import Options

WAKING = LeftOut(
    "engine.device",
    Stain.DEVICE,
    "cuda is awake",
    "engine/device.py",
    12,
    "torch.cuda.get_device_capability",
    (ImportSite("engine", "engine/__init__.py", 3), ImportSite("engine.device", "engine/device.py", 12)),
    (Frame("engine/device.py", 12, "<module>"), Frame("engine/device.py", 9, "capability")),
    0.25,
)
LOCKED = LeftOut("engine.locks", Stain.LOCK, "the lock engine.locks.LOCK is held", "engine/locks.py", 4)
FOUND = Preloading(
    wanted=("engine.worker",),
    device="virtual:h100",
    python="/usr/bin/python3",
    kept=(Kept("torch", 1.25, ("drawing new seeds", "using the device")), Kept("json", 0.002)),
    left_out=(WAKING, LOCKED),
    reads=(VariableUse("HF_HOME", "huggingface_hub.constants", "huggingface_hub/constants.py", 7),),
    writes=(VariableUse("SET", "engine", "engine/__init__.py", 1),),
    seeds=("sympy.core.symbol:Dummy._prng",),
    doubts=(Doubt("torch.x", "cuda", "conditional", "WAKE_IT", "torch/x.py", 5),),
    total=1.5,
    rest=0.09,
    loaded=1234,
    seconds=12.5,
)
CHECKED = replace(FOUND, file="preload.toml", left_out=(WAKING,), kept=(), rest=None, doubts=())
SCHEMA = json.loads(
    files("coldfork.report").joinpath("schemas/preload.schema.json").read_text(encoding="utf-8")
)


def text(result: Preloading) -> str:
    return renderer("preload", "text")(result, Options())


def test_a_new_list() -> None:
    assert (
        text(FOUND)
        == """\
2 modules may be imported before a worker is forked
   = they save it 94 % of its import time: 90 ms of 1.50 s of processor time remain
   = each was proven in a forked child on virtual:h100: the child drew new seeds, ran its libraries in parallel, and used the device

   1.25 s  torch
   2.0 ms  json

left out engine.device: cuda is awake
  --> engine/device.py:12
   1. capability                    engine/device.py:9
   2. torch.cuda.get_device_capability
  imported through
      engine                        engine/__init__.py:3
      engine.device                 engine/device.py:12
   = its import takes 250 ms of processor time
   = help: compute it on first use, not while the module is imported

left out engine.locks: the lock engine.locks.LOCK is held
  --> engine/locks.py:4
   = help: release it before the import ends

1 line did not wake a device here but may elsewhere, according to coldfork check; a server checks again at each start:
      torch/x.py:5  conditional, if WAKE_IT

Next: coldfork preload engine.worker --output preload.toml writes the list for coldfork.zygote
"""
    )


def test_a_list_that_is_clean_no_more() -> None:
    assert (
        text(CHECKED)
        == """\
preload.toml is no longer clean, because of 1 module

left out engine.device: cuda is awake
  --> engine/device.py:12
   1. capability                    engine/device.py:9
   2. torch.cuda.get_device_capability
  imported through
      engine                        engine/__init__.py:3
      engine.device                 engine/device.py:12
   = its import takes 250 ms of processor time
   = help: compute it on first use, not while the module is imported

Next: coldfork preload engine.worker --output preload.toml makes a list without them
"""
    )


def test_a_list_that_is_still_clean() -> None:
    still = replace(FOUND, file="preload.toml", left_out=(), doubts=())
    first, *_, last = text(still).splitlines()
    assert first == "preload.toml is clean: 2 modules may be imported before a worker is forked"
    assert last == 'Next: coldfork.zygote(preload="preload.toml") takes it'


def test_too_little_and_trouble_are_said() -> None:
    short = text(replace(FOUND, rest=0.9, trouble="OSError: no device"))
    assert "   = that is less than 90 %: what is left out below costs the rest\n" in short
    said = "a worker that was forked with the list preloaded failed: OSError: no device"
    assert f"   = {said}\n" in short


def test_a_long_list_is_summed_up() -> None:
    many = tuple(Kept(f"module{number:02}", 0.1 + number / 100) for number in range(20))
    shown = text(replace(FOUND, kept=many))
    assert "module04" not in shown
    assert "   600 ms  5 other modules between them" in shown


def test_a_share_is_never_rounded_up() -> None:
    assert "99.9 %" in text(replace(FOUND, total=10.0, rest=0.0001))


def test_where_it_was_written_is_the_next_command() -> None:
    last = text(replace(FOUND, listed="list.toml")).splitlines()[-1]
    later = "coldfork preload --check list.toml fails once the list is no longer clean"
    assert last == f'Next: coldfork.zygote(preload="list.toml") takes it; {later}'


def test_sources_that_were_not_read_are_said() -> None:
    assert "   = the sources could not be checked: no compiler\n" in text(
        replace(FOUND, unread="no compiler")
    )


def test_the_json_is_what_the_schema_says() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for result in (FOUND, CHECKED):
        document = json.loads(renderer("preload", "json")(result, Options(version="1")))
        Draft202012Validator(SCHEMA).validate(document)
        assert list(document) == SCHEMA["required"]
    assert (document["clean"], document["share"]) == (False, None)
    assert document["left_out"][0]["import_chain"][1] == {
        "module": "engine.device",
        "path": "engine/device.py",
        "line": 12,
    }


def test_the_comments_of_the_file() -> None:
    assert list(head(FOUND, "1.0")) == [
        "What a zygote may import before it forks workers; made by coldfork 1.0:",
        "  coldfork preload engine.worker",
        "Take it with coldfork.zygote(preload=FILE). In continuous integration:",
        "  coldfork preload --check FILE",
        "It saves a worker 94 % of its imports, as measured on virtual:h100.",
    ]
    assert list(foot(FOUND)) == [
        "Left out:",
        "  engine.device: cuda is awake, engine/device.py:12",
        "  engine.locks: the lock engine.locks.LOCK is held, engine/locks.py:4",
    ]
