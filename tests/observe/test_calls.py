"""The exact call: the line in the module, what lies between it and the call, and what was called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.observe.processes import HERE, imported, kinds, waker, write

MONITORING = hasattr(sys, "monitoring")


def named(folder: Path, source: str, **files: str) -> dict[str, Any]:
    """Return the report on a module `guilty` that wakes the device, watched exactly."""
    write(folder, {"guilty.py": source, **{f"{name}.py": text for name, text in files.items()}})
    return waker(folder, "guilty", "guilty")


def line_in_device(text: str) -> int:
    """Where the planted device does something."""
    lines = (HERE / "planted_device.py").read_text().split("\n")
    return next(number for number, line in enumerate(lines, 1) if text in line)


def site(found: dict[str, Any]) -> tuple[int, str]:
    """Line and scope of the import-time site."""
    return found["line"], found["function"]


def test_a_function_of_a_known_library_is_the_call(tmp_path: Path) -> None:
    """People know `torch.cuda.get_device_capability`, not what it ends in; the stack has the rest."""
    torch = {
        "torch/__init__.py": "",
        "torch/cuda.py": (
            "import planted_device\n"
            "def get_device_capability():\n    return _lazy_init()\n"
            "def _lazy_init():\n    planted_device.wake()\n"
        ),
        "helper.py": "import torch.cuda\ndef ask():\n    return torch.cuda.get_device_capability()\n",
    }
    write(tmp_path, torch)
    found = named(tmp_path, "import helper\n\nclass Builder:\n    support = helper.ask()\n")
    assert (*site(found), found["call"]) == (4, "Builder", "torch.cuda.get_device_capability")
    assert [(frame["function"], frame["line"]) for frame in found["stack"]] == [
        ("Builder", 4),
        ("ask", 3),
        ("get_device_capability", 3),
        ("_lazy_init", 5),
        ("wake", line_in_device("LIST.append(1)")),
    ]


def test_a_library_does_not_name_its_own_doors(tmp_path: Path) -> None:
    """When the library itself wakes the device on import, the call is what its own line led to."""
    write(
        tmp_path,
        {
            "torch/__init__.py": "import planted_device\ndef probe():\n    planted_device.wake()\nprobe()\n",
        },
    )
    found = waker(tmp_path, "torch", "torch")
    assert (*site(found), found["call"]) == (4, "<module>", "list.append")


@pytest.mark.parametrize(
    ("statement", "with_monitoring", "without"),
    [
        ("planted_device.LIST.append(1)", "list.append", "list.append"),
        ("planted_device.foreign_wake(planted_device.PLACE, 1, 1)", "memset", "planted_device.foreign_wake"),
        ("wake_it(planted_device.PLACE, 1, 1)", "memset", "wake_it"),
    ],
)
def test_what_was_called(tmp_path: Path, statement: str, with_monitoring: str, without: str) -> None:
    """Python 3.12 names foreign functions; before, the line's only call is named as it is written."""
    source = f"import planted_device\nwake_it = planted_device.foreign_wake\n{statement}\n"
    found = named(tmp_path, source)
    assert (*site(found), found["call"]) == (3, "<module>", with_monitoring if MONITORING else without)


def test_two_calls_on_a_line_name_none_that_is_not_known(tmp_path: Path) -> None:
    """Of two calls on one line, one that cannot be told apart is left open; never is the wrong one named."""
    source = "import planted_device as d\nd.compute(0); d.foreign_wake(d.PLACE, 1, 1)\n"
    found = named(tmp_path, source)
    assert (*site(found), found["call"]) == (2, "<module>", "memset" if MONITORING else None)


def test_what_no_call_did_is_no_call(tmp_path: Path) -> None:
    """An assignment that goes through C wakes it: the line is known, and a call is not made up."""
    found = named(tmp_path, "import planted_device\nx = int()\nplanted_device.FIELD.value = 1\ny = int()\n")
    assert (*site(found), found["call"]) == (3, "<module>", None)


@pytest.mark.parametrize(
    ("source", "line", "function"),
    [
        ("import planted_device as d\nx = [d.wake() for _ in (1,)]\n", 2, None),
        ("import planted_device as d\nx = list(\n    d.wake()\n    for _ in (1,)\n)\n", 2, "<module>"),
        ("import planted_device as d\ndef f(\n    x=d.wake(),\n): pass\n", 3, "<module>"),
        ("import planted_device as d\ndef deco(f): d.wake()\n\n@str\n@deco\ndef f(): pass\n", 5, "<module>"),
        ("import planted_device as d\nclass M(type):\n    def __new__(m, *a):\n        d.wake()\n"
         "        return type.__new__(m, *a)\nclass C(metaclass=M):\n    x = 1\n", 6, "<module>"),
        ("import planted_device as d\nexec('d.wake()')\n", 2, "<module>"),
        ("import planted_device as d\nclass A:\n    class B:\n        x = (\n            d.wake()\n        )\n",
         5, "A.B"),
    ],
)  # fmt: skip
def test_where_the_site_stands(tmp_path: Path, source: str, line: int, function: str | None) -> None:
    """The outermost line that runs because the module is imported, class bodies and comprehensions
    included."""
    found = named(tmp_path, source)
    assert found["line"] == line
    if function is not None:
        assert found["function"] == function


def test_imports_inside_the_module_are_not_watched_closely(tmp_path: Path) -> None:
    """Exactness stops at the next import: what that module does is found by naming it in another look."""
    write(tmp_path, {"inner.py": "import planted_device\n\nplanted_device.wake()\n"})
    write(tmp_path, {"guilty.py": "import inner\n"})
    first = waker(tmp_path, "guilty", "guilty")
    assert (first["module"], first["line"]) == ("inner", None)
    second = waker(tmp_path, "guilty", "inner")
    assert (second["module"], second["line"]) == ("inner", 3)


def test_a_program_that_traces_itself_is_left_alone(tmp_path: Path) -> None:
    """A tracer that was there before us stays; where both cannot live, we say so and know the module."""
    write(
        tmp_path,
        {
            "tracing.py": "import sys\ndef trace(*a): return None\nsys.settrace(trace)\nsys.setprofile(trace)\n"
            "import guilty\nassert sys.gettrace() is trace and sys.getprofile() is trace\n",
            "guilty.py": "import planted_device\nplanted_device.wake()\n",
        },
    )
    said = imported(tmp_path, "tracing", "guilty")
    assert said["failure"] is None
    found = kinds(said["events"], "wake")[0]["waker"]
    assert found["module"] == "guilty"
    assert [event["what"] for event in kinds(said["events"], "trouble")] == ([] if MONITORING else ["calls"])
    assert found["line"] == (2 if MONITORING else None)


def test_a_generator_closed_by_the_collector_does_not_confuse(tmp_path: Path) -> None:
    """Frames that end in the middle of others are followed all the same."""
    found = named(
        tmp_path,
        """
import planted_device as d

def generate():
    try:
        yield 1
    finally:
        d.wake()

def use():
    g = generate()
    next(g)
    del g

use()
""",
    )
    assert site(found) == (15, "<module>")
    assert [frame["function"] for frame in found["stack"]] == ["<module>", "use", "generate", "wake"]
