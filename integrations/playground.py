"""The documentation's playground in a real Chromium, beside the command line: `./dev integration playground`

Needs Chromium, Node and npm.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import monotonic

from integrations.environment import Ended, Environment
from integrations.transcript import Transcript, main
from published.errors import UnavailableError
from published.places import ROOT
from tests.playground.driving import Playground, Shown, comparable, printed, served
from tests.report import browser

ENVIRONMENT = Environment("playground", ("click>=8.1.7",))
#: The window, and the settings that the examples are checked with in it.
RUNS = (((1280, 900), "", "3.13"), ((390, 844), "rocm", "3.11"))
COLD, WARM = 15.0, 1.0
EXAMPLES = Path("playground", "built", "examples.json")
INTRODUCTION = """
`./dev integration playground` builds the documentation, serves it, opens the playground in a Chromium with an
empty profile and no window, and chooses one example after the other. What the page shows is compared with
what `coldfork check` prints about the same files, in an environment that holds coldfork alone: each letter
and its colour, but for how long it took and for the paragraph on packages.
"""


def _site() -> Path:
    done = subprocess.run([str(ROOT / "dev"), "docs"], capture_output=True, text=True, check=False)
    if done.returncode or not (ROOT / "site" / EXAMPLES).is_file():
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise UnavailableError(f"./dev docs leaves the playground out: {''.join(last)}")
    return ROOT / "site"


def _expected(files: dict[str, str], profile: str, target: str) -> Shown:
    """The command line's words about an example."""
    program = [str(ENVIRONMENT.python.parent / "coldfork"), "check", "--target-version", target]
    with tempfile.TemporaryDirectory() as folder:
        assumed = ["--profile", profile] if profile else []
        return comparable(printed([*program, *assumed], files, Path(folder, "project")))


def _first_line(shown: Shown) -> str:
    return "".join(text for _, text in shown).partition("\n")[0]


def _run(transcript: Transcript, site: str, size: tuple[int, int], profile: str, target: str) -> None:
    width, height = size
    settings = f"--target-version {target}" + (f" --profile {profile}" if profile else "")
    taken, lines, differing = [], [], []
    with tempfile.TemporaryDirectory() as kept, browser.opened(Path(kept), width, height) as started:
        begun, before = monotonic(), started.processor_seconds()
        page = Playground(started, f"{site}playground/index.html")
        page.ended()
        cold, worked = monotonic() - begun, started.processor_seconds() - before
        page.choose("profile", profile)
        page.choose("target", target)
        for example in json.loads((ROOT / "site" / EXAMPLES).read_text(encoding="utf-8")):
            taken.append(page.choose("example", example["folder"]))
            shown = comparable(page.shown())
            lines.append(f"{example['folder']}: {_first_line(shown)}")
            if shown != _expected(example["files"], profile, target):
                differing.append(example["folder"])
        wide = int(started.evaluate("document.documentElement.scrollWidth"))
        foreign, complaints = page.foreign(site), started.complaints
    needed = (r"^class-body: error\[device-init-at-import\]", r"^eager-reexport: error\[waking-import\]")
    title = f"{width} by {height} pixels, `{settings}`."
    transcript.step(title, Ended(0, "\n".join(lines)), *(() if profile else needed))
    transcript.promise(
        f"All {len(lines)} examples read as on the command line{_but(differing)}.",
        not differing,
    )
    # Others may work on the same machine: what it took of the processors is what counts.
    transcript.promise(
        f"From the empty profile to the first findings the browser's processes worked for {worked:.1f} s, "
        f"at most {COLD:g}; {cold:.1f} s went by.",
        worked <= COLD,
    )
    transcript.promise(
        f"After that, findings came within {median(taken):.2f} s (median) and {max(taken):.2f} s (longest), "
        f"at most {WARM:g}.",
        max(taken) <= WARM,
    )
    transcript.promise(
        f"No request, of the page or of its worker, left the site{_but(foreign)}.",
        not foreign,
    )
    transcript.promise(
        f"Nothing stuck out of the window, and the browser had nothing to complain of{_but(complaints)}.",
        wide <= width and not complaints,
    )


def _but(exceptions: list[str]) -> str:
    return f", but for {'; '.join(exceptions)}" if exceptions else ""


def work() -> Transcript:
    """Compare every example, in a wide and in a narrow window."""
    if browser.find() is None:
        raise UnavailableError("there is no Chromium here")
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            raise UnavailableError(f"there is no {tool} here")
    ENVIRONMENT.prepare()
    ENVIRONMENT.pip("install", "--quiet", "--force-reinstall", "--no-deps", str(ROOT))
    ENVIRONMENT.pip("install", "--quiet", str(ROOT))
    transcript = Transcript("The playground, beside the command line", INTRODUCTION)
    with served(_site()) as site:
        for size, profile, target in RUNS:
            _run(transcript, site, size, profile, target)
    return transcript


if __name__ == "__main__":
    sys.exit(main("playground", work))
