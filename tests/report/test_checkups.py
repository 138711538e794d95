"""`coldfork doctor` in its three formats, whole."""

from __future__ import annotations

import json
from dataclasses import replace

from inline_snapshot import snapshot

from coldfork.diagnose.anonymous import anonymous
from coldfork.model.diagnosis import Answer, CheckResult, Checkup, fail, ok, skipped, warn
from coldfork.observe.secrets.identities import Identity
from coldfork.report.formats import renderer
from coldfork.report.shared.options import Options


def result(name: str, group: str, answer: Answer) -> CheckResult:
    return CheckResult(name, group, f"Whether {name} is well", answer, 0.01234)


CHECKUP = Checkup(
    (
        result("python", "Python", ok("Python 3.11.7 on Linux x86_64, in /srv/ada/venv")),
        result("openmp", "Python", ok("2 copies of GNU's runtime", "/srv/ada/venv/libgomp.so.1")),
        result("driver", "Driver", skipped("there is no NVIDIA driver here")),
        result("nvml", "Driver", skipped("there is no NVIDIA driver here")),
        result(
            "nofile", "Limits", warn("a process may open 1024 files", "run ulimit -n 4096 before the program")
        ),
        result("nproc", "Limits", ok("this user may have 9000 processes")),
        result(
            "visible-devices",
            "Variables",
            fail("x|y means nothing", "name each once", "see it", details=[f"GPU-{n}" for n in range(10)]),
        ),
        result("guard", "coldfork", ok("the guard is on")),
    ),
    "/srv/ada/venv/bin/python",
    ("/srv/ada/venv/lib",),
)
PLAIN = Options(version="1.0")


def test_text_says_in_full_what_is_not_well_and_the_rest_in_a_line() -> None:
    assert renderer("checkup", "text")(CHECKUP, PLAIN) == snapshot("""\
✓ Python  Python 3.11.7 on Linux x86_64, in /srv/ada/venv (2 ok)
- Driver  there is no NVIDIA driver here (2 skipped)
! Limits  (1 ok)
  ! nofile  a process may open 1024 files
      help: run ulimit -n 4096 before the program
✗ Variables
  ✗ visible-devices  x|y means nothing
      GPU-0
      GPU-1
      GPU-2
      GPU-3
      GPU-4
      GPU-5
      GPU-6
      GPU-7
      and 2 more; --format json lists them
      help: name each once
      help: see it
✓ coldfork  the guard is on (1 ok)

8 checks: 1 failed, 1 to look at, 4 ok, 2 skipped
Next: coldfork doctor visible-devices checks again once it is fixed
""")


def test_text_with_everything_has_a_line_for_each_check() -> None:
    assert renderer("checkup", "text")(CHECKUP, replace(PLAIN, everything=True)) == snapshot("""\
✓ Python
  ✓ python  Python 3.11.7 on Linux x86_64, in /srv/ada/venv
  ✓ openmp  2 copies of GNU's runtime
      /srv/ada/venv/libgomp.so.1
- Driver
  - driver  there is no NVIDIA driver here
  - nvml    there is no NVIDIA driver here
! Limits
  ! nofile  a process may open 1024 files
      help: run ulimit -n 4096 before the program
  ✓ nproc   this user may have 9000 processes
✗ Variables
  ✗ visible-devices  x|y means nothing
      GPU-0
      GPU-1
      GPU-2
      GPU-3
      GPU-4
      GPU-5
      GPU-6
      GPU-7
      and 2 more; --format json lists them
      help: name each once
      help: see it
✓ coldfork
  ✓ guard  the guard is on

8 checks: 1 failed, 1 to look at, 4 ok, 2 skipped
Next: coldfork doctor visible-devices checks again once it is fixed
""")


def test_text_for_a_terminal_without_marks_uses_signs_that_it_has() -> None:
    said = renderer("checkup", "text")(CHECKUP, replace(PLAIN, encoding="ascii"))
    assert [line[0] for line in said.splitlines() if line[:1] in "+!x-✓✗" and line] == [
        "+",
        "-",
        "!",
        "x",
        "+",
    ]


def test_colour_paints_and_changes_no_word() -> None:
    painted = renderer("checkup", "text")(CHECKUP, replace(PLAIN, colour=True))
    assert "\x1b[1;31m✗\x1b[0m" in painted
    plain = painted
    for code in (
        "\x1b[1;31m",
        "\x1b[1;33m",
        "\x1b[1;32m",
        "\x1b[32m",
        "\x1b[36m",
        "\x1b[1m",
        "\x1b[2m",
        "\x1b[0m",
    ):
        plain = plain.replace(code, "")
    assert plain == renderer("checkup", "text")(CHECKUP, PLAIN)


def test_json_has_a_line_for_each_check() -> None:
    said = renderer("checkup", "json")(CHECKUP, PLAIN)
    assert json.loads(said)["checks"][4] == snapshot(
        {
            "check": "nofile",
            "group": "Limits",
            "title": "Whether nofile is well",
            "status": "warn",
            "message": "a process may open 1024 files",
            "details": [],
            "remedies": ["run ulimit -n 4096 before the program"],
            "seconds": 0.0123,
        }
    )
    assert {**json.loads(said), "checks": []} == snapshot(
        {
            "schema_version": 1,
            "tool": {"name": "coldfork", "version": "1.0"},
            "python": "/srv/ada/venv/bin/python",
            "folders": ["/srv/ada/venv/lib"],
            "counts": {"ok": 4, "warn": 1, "fail": 1, "skipped": 2},
            "checks": [],
        }
    )


def test_markdown_is_a_table_and_what_is_not_well() -> None:
    assert renderer("checkup", "markdown")(CHECKUP, PLAIN) == snapshot("""\
### coldfork doctor

| check | status | what was found |
| --- | --- | --- |
| python | ok | Python 3.11.7 on Linux x86_64, in /srv/ada/venv |
| openmp | ok | 2 copies of GNU's runtime |
| driver | skipped | there is no NVIDIA driver here |
| nvml | skipped | there is no NVIDIA driver here |
| nofile | warn | a process may open 1024 files |
| nproc | ok | this user may have 9000 processes |
| visible-devices | fail | x\\|y means nothing |
| guard | ok | the guard is on |

**nofile**

- help: run ulimit -n 4096 before the program

**visible-devices**

- `GPU-0`
- `GPU-1`
- `GPU-2`
- `GPU-3`
- `GPU-4`
- `GPU-5`
- `GPU-6`
- `GPU-7`
- `GPU-8`
- `GPU-9`
- help: name each once
- help: see it

8 checks: 1 failed, 1 to look at, 4 ok, 2 skipped.

_coldfork 1.0_
""")


def test_what_comes_next_follows_from_what_was_found() -> None:
    def following(*results: CheckResult, **changes: object) -> str:
        checkup = replace(Checkup(results), **changes)  # type: ignore[arg-type]
        return renderer("checkup", "text")(checkup, PLAIN).splitlines()[-1]

    well = result("driver", "Driver", ok("here"))
    untouched = result("touch", "Driver", skipped("not asked"))
    assert (
        following(result("poisoned", "coldfork", fail("one", "end it")))
        == "Next: coldfork ps shows the processes"
    )
    assert (
        following(well, untouched)
        == "Next: coldfork doctor --touch wakes the devices in a process of its own"
    )
    crashed = result("recordings", "coldfork", warn("1 of 2 recorded programs crashed", "look"))
    assert following(crashed) == "Next: coldfork report FILE shows one of them"
    assert following(crashed, result("nofile", "Limits", warn("few", "more"))).startswith(
        "Next: coldfork doctor packages"
    )
    assert following(well, asked=("driver",)) == "Next: coldfork doctor runs all checks"
    assert following(well, named="my env/python") == (
        "Next: coldfork doctor packages --python 'my env/python' says which installed packages wake a device"
    )
    assert following(result("nvml", "Driver", fail("no", "mend")), named="x") == (
        "Next: coldfork doctor nvml --python x checks again once it is fixed"
    )


def test_a_checkup_for_strangers_names_nobody() -> None:
    who = Identity(("gpu-17",), ("ada",), "/srv/ada")
    told = fail(
        "/srv/ada/x on gpu-17 is ada's",
        "ask ada",
        details=["GPU-1b2c3d4e-0000-4000-8000-000000000001", "HF_TOKEN=hf_abcdefghijklmnopqrstuvwx1234"],
    )
    seen = anonymous(replace(CHECKUP, results=(result("nvml", "Driver", told),), named="/srv/ada/venv"), who)
    assert seen.results[0].answer == fail(
        "~/x on <host> is <user>'s", "ask <user>", details=["GPU-<uuid>", "HF_TOKEN=<redacted>"]
    )
    assert (seen.python, seen.folders, seen.named) == ("~/venv/bin/python", ("~/venv/lib",), "~/venv")
    assert "gpu-17" not in renderer("checkup", "markdown")(seen, PLAIN)
