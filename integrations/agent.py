"""Plays a coding agent on published faults, from coldfork's own texts alone: `./dev integration agent`"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integrations.environment import Ended
from integrations.transcript import Transcript, main
from published import sources
from published.places import ROOT
from published.sources import Wanted

INTRODUCTION = """
`./dev integration agent` plays the part of a coding agent on ten published faults. It knows nothing but what
coldfork prints: the first command is the first one in the text of `coldfork skill`, and every further one
stands in `next` of a record that was printed before: those that explain the first cause of each rule, then
those that mend. It runs each of them once until files change, and stops where none is left. It edits
nothing by hand, so that it ends where a real agent would have to begin to think. The number behind a command
is its exit status.

The judgement comes afterwards, and only it knows where the fault is. A fault is *mended* where a check finds
nothing any more that leads through its file, and *in part* where the finding that was there is gone and a
milder one stands in its place. It is *proven* where its module was seen to wake the device before, and to be
cold afterwards. It is *not found* where the check says nothing about that file: there was nothing to mend.

Faults of how processes are started (the last five) have no import to prove: there it counts whether the
finding is gone. The environment has torch and little else, so that a package whose other dependencies are
missing cannot be imported, and its change not be proven.
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """A published fault, as the judge knows it."""

    version: str
    top: str
    file: str
    """Where its finding is, below the folder of the top package."""


FAULTS = (
    Fault("openai-clip==1.0.1", "clip", "clip/clip.py"),
    Fault("clip-anytorch==2.6.0", "clip", "clip/clip.py"),
    Fault("torch-scatter==2.0.6", "torch_scatter", "torch_scatter/__init__.py"),
    Fault("accelerate==0.21.0", "accelerate", "accelerate/state.py"),
    Fault("lmcache==0.4.4", "lmcache", "lmcache/v1/multiprocess/gpu_context.py"),
    Fault("ultralytics==8.4.80", "ultralytics", "ultralytics/utils/torch_utils.py"),
    Fault("torchmeta==1.4.0", "torchmeta", "torchmeta/utils/data/dataloader.py"),
    Fault("torch-geometric==1.4.3", "torch_geometric", "torch_geometric/data/dataloader.py"),
    Fault("marimo==0.1.68", "marimo", "marimo/_server/sessions.py"),
    Fault("speculators==0.6.0", "speculators", "speculators/train/data.py"),
)
_AT_A_TIME = 2
_MOST_COMMANDS = 24
_SECONDS = 600


@dataclass(slots=True)
class Agent:
    """Runs the commands that are named, and reads the records that come of it."""

    folder: Path
    ran: list[tuple[str, int | None]] = field(default_factory=list)
    proofs: list[dict[str, Any]] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)
    left: list[dict[str, Any]] = field(default_factory=list)

    def work(self) -> None:
        """Follow the texts to their end."""
        waiting = deque([_first(self._run("coldfork skill"))])
        seen: set[str] = set()
        while waiting and len(self.ran) < _MOST_COMMANDS:
            command = waiting.popleft()
            if command in seen:
                continue
            seen.add(command)
            before = self._texts()
            records = list(_records(self._run(command)))
            if self._texts() != before:
                # What was named before is about the files as they were.
                waiting.clear()
                seen = {command}
            self._read(records)
            waiting.extend(_chosen(records))

    def _run(self, command: str) -> str:
        """The output of a command that begins with `coldfork`; nothing else is run."""
        program, *words = shlex.split(command)
        if program != "coldfork":
            raise ValueError(f"no command of coldfork: {command}")
        try:
            done = subprocess.run(
                [sys.executable, "-m", "coldfork", *words],
                cwd=self.folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.ran.append((command, None))
            return ""
        self.ran.append((command, done.returncode))
        return done.stdout

    def _read(self, records: list[dict[str, Any]]) -> None:
        if not any(record["record"] == "end" for record in records):
            return
        self.proofs += [record for record in records if record["record"] == "proof"]
        self.left = [record for record in records if record["record"] == "cause"]
        (self.end,) = [record for record in records if record["record"] == "end"]

    def _texts(self) -> dict[Path, bytes]:
        return {file: file.read_bytes() for file in self.folder.rglob("*.py")}


def _chosen(records: list[dict[str, Any]]) -> Iterator[str]:
    """The commands that say more about the first cause of each rule, then those that mend."""
    rules: set[str] = set()
    for record in records:
        if record["record"] == "cause" and record["rule"] not in rules:
            rules.add(record["rule"])
            yield from record["next"]
        if record["record"] == "end":
            yield from record.get("next", ())


def _first(skill: str) -> str:
    """The first command of the skill, about the folder that it says paths usually are."""
    command = re.search(r"^```bash\n(coldfork .+)\n```$", skill, re.MULTILINE)
    folder = re.search(r"PATHS are files and folders, usually `(\w+)`", skill)
    if command is None or folder is None:
        raise ValueError("the skill names no command to begin with")
    return command[1].replace("PATHS", folder[1])


def _records(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and "record" in record:
            yield record


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a fault is after the agent's work."""

    outcome: str
    """`proven`, `mended` without proof, `mended in part`, `left`, `refuted` or `not found`."""
    why: str


def judge(fault: Fault, folder: Path, proofs: list[dict[str, Any]], before: list[str]) -> Judgement:
    """Look whether the fault is still found, and what was seen of it."""
    if not before:
        return Judgement("not found", "the check finds nothing in that file")
    left = found(fault, folder)
    if same := [one for one in left if one.split()[0] in {was.split()[0] for was in before}]:
        return Judgement("left", same[0])
    if left:
        return Judgement("mended in part", f"{before[0]} is gone, {left[0]} has come instead")
    details = [detail for proof in proofs for detail in proof.get("details", ())]
    about = [detail for detail in details if f"by {fault.file}:" in detail and "cold after" in detail]
    if any(proof["refuted"] for proof in proofs):
        return Judgement("refuted", "; ".join(proof["says"] for proof in proofs if proof["refuted"]))
    if about:
        return Judgement("proven", about[-1])
    module = fault.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    said = [detail for detail in details if detail.startswith(f"{module}: ")]
    return Judgement("mended", said[-1].partition(": ")[2] if said else "no import shows it")


def found(fault: Fault, folder: Path) -> list[str]:
    """What a check finds in the file of a fault: a sentence for each finding."""
    command = [sys.executable, "-m", "coldfork", "check", "src", "--format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False)
    findings = json.loads(done.stdout)["findings"]
    return [
        f"{one['rule']} at line {one['line']}"
        for one in findings
        if fault.file in {one["path"], *(step["path"] for step in one["chain"])}
    ]


def _sample(fault: Fault, folder: Path) -> None:
    """The package of a fault as a project of its own."""
    root = sources.obtain(Wanted.parse(fault.version))
    package = next(place for place in (root / fault.top, root / "src" / fault.top) if place.is_dir())
    shutil.copytree(package, folder / "src" / fault.top)
    (folder / "nothing").mkdir()
    # As `./dev bench mend` does: of packages beside, what coldfork knows by itself has to do.
    settings = '[tool.coldfork]\nsite-packages = ["nothing"]\n'
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")


def _told(fault: Fault, agent: Agent, judgement: Judgement) -> str:
    lines = [f"$ {command}   [{status}]" for command, status in agent.ran]
    lines += [f"proof: {proof['says']}" for proof in agent.proofs]
    reasons = [cause.get("fix", "") for cause in agent.left if fault.file in f"src/{cause['at']}"]
    lines += [f"fix: {reason}" for reason in dict.fromkeys(filter(None, reasons))]
    return "\n".join([*lines, f"judge: {judgement.outcome}: {judgement.why}"])


def _play(fault: Fault) -> tuple[str, str, bool]:
    """Let the agent work on a fault: how that ended, what it did, and whether every command could be run."""
    with tempfile.TemporaryDirectory(prefix="coldfork-agent-") as scratch:
        folder = Path(scratch)
        _sample(fault, folder)
        before = found(fault, folder)
        agent = Agent(folder)
        agent.work()
        judgement = judge(fault, folder, agent.proofs, before)
        told = _told(fault, agent, judgement).replace(scratch, ".").replace(str(ROOT), ".")
    print(f"{fault.version}: {judgement.outcome}", file=sys.stderr, flush=True)
    return judgement.outcome, told, all(status in (0, 1) for _, status in agent.ran)


def work() -> Transcript:
    """Let the agent work on each fault, and judge it."""
    transcript = Transcript("A coding agent that knows only coldfork's texts", INTRODUCTION)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        played = list(pool.map(_play, FAULTS))
    for fault, (_, told, could_be_run) in zip(FAULTS, played, strict=True):
        transcript.step(f"{fault.version}, {fault.file}:", Ended(0, told))
        if not could_be_run:
            transcript.promise("Every command that was named could be run.", False)
    outcomes = [outcome for outcome, *_ in played]
    counts = (f"{outcomes.count(name)} {name}" for name in dict.fromkeys(sorted(outcomes)))
    transcript.promise(f"**Of {len(FAULTS)} faults: {', '.join(counts)}.**", True)
    return transcript


if __name__ == "__main__":
    sys.exit(main("agent", work))
