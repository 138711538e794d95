"""Who catches an error: asked of frames that raise, and compared with who does."""

from __future__ import annotations

import sys
import textwrap
from functools import partial
from types import FrameType
from typing import Any

import pytest

from coldfork.observe.forking.handlers import catches, leaves_the_program

CAUGHT = {
    "except Exception": "try: touch()\nexcept Exception: pass",
    "bare": "try: touch()\nexcept: pass",
    "second clause": "try: touch()\nexcept KeyError: pass\nexcept RuntimeError: pass",
    "tuple": "try: touch()\nexcept (KeyError, RuntimeError) as error: pass",
    "attribute": "import builtins\ntry: touch()\nexcept builtins.RuntimeError: pass",
    "around with": "import io\ntry:\n    with io.StringIO(): touch()\nexcept RuntimeError: pass",
    "around finally": "try:\n    try: touch()\n    finally: done = 1\nexcept RuntimeError: pass",
    "around another type": "try:\n    try: touch()\n    except KeyError: pass\nexcept RuntimeError: pass",
    "suppressed by finally": "for _ in 'a':\n    try: touch()\n    except RuntimeError: continue",
}
PASSED = {
    "nothing": "touch()",
    "other type": "try: touch()\nexcept KeyError: pass",
    "finally": "try: touch()\nfinally: done = 1",
    "with": "import io\nwith io.StringIO(): touch()",
    "else": "try: pass\nexcept RuntimeError: pass\nelse: touch()",
    "after": "try: pass\nexcept RuntimeError: pass\ntouch()",
    "in a handler": "try: {}['a']\nexcept KeyError: touch()",
    "nested in finally": "try: touch()\nfinally:\n    try: pass\n    except RuntimeError: pass",
}


def asked(body: str) -> tuple[bool, bool]:
    """Whether a function is said to catch an error, and whether it does."""
    said: list[bool] = []

    def touch() -> None:
        error = RuntimeError("Cannot re-initialize CUDA in forked subprocess")
        frame = sys._getframe().f_back
        assert frame is not None
        said.append(catches(error, frame))
        raise error

    names: dict[str, Any] = {"touch": touch}
    exec(f"def run(touch):\n{textwrap.indent(body, '    ')}\n", names)
    try:
        names["run"](touch)
    except RuntimeError:
        return said[0], False
    return said[0], True


@pytest.mark.parametrize("body", [*CAUGHT.values(), *PASSED.values()], ids=[*CAUGHT, *PASSED])
def test_a_frame_is_said_to_catch_what_it_catches(body: str) -> None:
    said, does = asked(body)
    assert said is does
    assert does is (body in CAUGHT.values())


CATCHES, CALLS = "try: call()\nexcept Exception: pass", "call()"
OWN, PACKAGE, STANDARD = "/srv/app.py", "/venv/lib/site-packages/server.py", sys.modules["os"].__file__


@pytest.mark.parametrize(
    ("stack", "leaves"),
    [
        ([(PACKAGE, CATCHES), (OWN, CALLS)], True),
        ([(OWN, CATCHES), (PACKAGE, CATCHES), (PACKAGE, CALLS), (OWN, CALLS), (PACKAGE, CALLS)], True),
        ([(PACKAGE, CATCHES), (OWN, CATCHES)], False),
        ([(PACKAGE, CATCHES), (OWN, CATCHES), (OWN, CALLS), (PACKAGE, CALLS)], False),
        ([(PACKAGE, CATCHES), (OWN, CALLS), (PACKAGE, CATCHES)], False),
        ([(PACKAGE, CATCHES), (STANDARD, CATCHES), (OWN, CALLS)], False),
    ],
)
def test_what_only_a_package_catches_that_called_the_program_has_left_it(
    stack: list[tuple[str, str]], leaves: bool
) -> None:
    said: list[bool] = []

    def touch() -> None:
        frame: FrameType | None = sys._getframe().f_back
        said.append(leaves_the_program(RuntimeError(), frame))

    call: Any = touch
    for file, body in reversed(stack):
        names: dict[str, Any] = {}
        exec(compile(f"def run(call):\n{textwrap.indent(body, '    ')}\n", file, "exec"), names)
        call = partial(names["run"], call)
    call()
    assert said == [leaves]
