"""Says how soon a session answers after an edit, beside the command line: `./dev bench session`"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import coldfork
from benchmarks import measure, mount, targets, tool
from benchmarks.cases import Fetcher
from benchmarks.measure import Spread
from coldfork.checking.session import Overlays
from coldfork.model.findings import Report
from published import places
from published.errors import UnavailableError
from published.sources import Wanted

PACKAGE = Wanted("vllm", "0.11.0")
NAME = f"{PACKAGE.name}-{PACKAGE.version}"
#: Imported by no other module.
LEAF = "vllm/model_executor/models/zamba2.py"
ROOT = "vllm/__init__.py"
ROUNDS = 15
#: By the name of the promise: the file that is edited, and whether on disk or in a buffer.
EDITS = {
    "session, leaf in a buffer": (LEAF, False),
    "session, leaf on disk": (LEAF, True),
    "session, root in a buffer": (ROOT, False),
    "session, root on disk": (ROOT, True),
}
WARM = "warm command line"


@dataclass(frozen=True, slots=True)
class Measured:
    """How long the same thing took several times: as a clock says, and in CPU seconds."""

    name: str
    seconds: Spread
    cpu: Spread

    def __str__(self) -> str:
        return f"{self.name:28} {self.seconds}  CPU {self.cpu.median:.2f} s"


class Edited:
    """A session that holds a package, and the edits that it is asked about."""

    def __init__(self, folder: Path, session: coldfork.CheckSession) -> None:
        self._folder = folder
        self._session = session
        self._edits = 0

    def answer(self, path: str, on_disk: bool) -> None:
        """Edit a file in a way that none was edited before, and ask for the whole answer."""
        self._edits += 1
        file = self._folder / path
        text = f"{file.read_text(encoding='utf-8')}\nEDIT_{self._edits} = {self._edits}\n"
        if on_disk:
            file.write_text(text, encoding="utf-8")
        self._ask({} if on_disk else {file: text})

    def sees_buffers(self) -> bool:
        """Whether the session sees what is only in a buffer: what is not looked at is answered at once."""
        file = self._folder / ROOT
        plain = self._ask({file: "\n"})
        waking = self._ask({file: "import torch\n\ntorch.cuda.get_device_name()\n"})
        return len(waking.causes) > len(plain.causes)

    def _ask(self, overlays: Overlays) -> Report:
        return self._session.check(self._folder / "vllm", overlays=overlays)


def several(name: str, rounds: int, once: Callable[[], tuple[float, float]]) -> Measured:
    """Measure something as often as asked; what it returns are its seconds and its CPU seconds."""
    samples = [once() for _ in range(rounds)]
    return Measured(name, Spread.of([one for one, _ in samples]), Spread.of([cpu for _, cpu in samples]))


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """The seconds and the CPU seconds that something takes in this process."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu


def measured(folder: Path, scratch: Path, rounds: int) -> list[Measured]:
    """All that is measured of a package that may be edited: the command line first."""
    environment = tool.environment(scratch / "cache")
    command = tool.command(folder / "vllm", "--exit-zero", "--format", "json")
    command += ["--output", str(scratch / "report.json")]

    def warm() -> tuple[float, float]:
        run = measure.once(command, environment=environment)
        return run.seconds, run.cpu_seconds

    warm()
    found = [several(WARM, rounds, warm)]
    with coldfork.CheckSession(cache=False) as session:
        session.check(folder / "vllm")
        edited = Edited(folder, session)
        for name, (path, on_disk) in EDITS.items():
            if not on_disk and not edited.sees_buffers():
                continue
            answer = partial(edited.answer, path, on_disk)
            found.append(several(name, rounds, partial(timed, answer)))
    return found


@contextmanager
def editable() -> Iterator[Path]:
    """A folder with a copy of the package in `sources`, which may be edited, and room beside it."""
    source = mount.package_root(Fetcher(places.sources())(PACKAGE), "vllm")
    with tempfile.TemporaryDirectory(prefix="coldfork-session-") as place:
        scratch = Path(place)
        shutil.copytree(source / "vllm", scratch / "sources" / "vllm")
        yield scratch


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a promise is missed and `--strict` is given."""
    options = _options(arguments)
    try:
        missed = _compared(options.rounds)
    except UnavailableError as error:
        print(f"{NAME}: {error}")
        return 1
    return 1 if missed and options.strict else 0


def _compared(rounds: int) -> int:
    """Measure and print; how many promises are missed."""
    missed = 0
    with editable() as scratch:
        command_line, *answers = measured(scratch / "sources", scratch, rounds)
        print(command_line)
        for one in answers:
            ratio = one.seconds.median / command_line.seconds.median
            print(f"{one}  {ratio:.2f} of the {WARM}", flush=True)
            for kept in targets.compare(NAME, {one.name: one.seconds.median}):
                print(f"  {kept}", flush=True)
                missed += not kept.met
        for name in EDITS.keys() - {one.name for one in answers}:
            print(f"{name}: MISSED, the session does not see what stands in a buffer")
            missed += 1
    return missed


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench session", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how often each (default {ROUNDS})")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a promise is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
