"""A fault of coldfork's own costs what was being looked at, is told, and leaves the rest of the answer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from coldfork.checking.reporting import report_of
from coldfork.checking.request import configured
from coldfork.checking.session import CheckSession
from coldfork.cli.main import cli
from coldfork.model.findings import Report
from coldfork.source.evaluation.expressions import dispatch as expressions
from coldfork.source.evaluation.statements import dispatch as statements
from coldfork.source.reach.whole_files import WholeFiles
from coldfork.source.syntax import nodes
from coldfork.source.syntax.lowering import blocks
from tests.amounts import step
from tests.checking.planting import PlantedError, calls, functions_of, planted

PROGRAM = {
    "pyproject.toml": '[project]\nname = "app"\nversion = "1"\ndependencies = ["torch"]\n',
    "app/__init__.py": '"""A package."""\nfrom app import first\nfrom app.base import Base\n',
    "app/base.py": """\
import functools

FLAGS = {"a": 1, "b": [1, 2]}

class Meta(type):
    def __init__(cls, name, bases, body):
        cls.tag = name.lower()

class Base(metaclass=Meta):
    limit: int = 3

    def __init__(self, size=FLAGS["a"]):
        self.size = size

    @property
    def double(self):
        return self.size * 2

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

@functools.lru_cache
def names(prefix, *rest, **more):
    return [f"{prefix}-{item}" for item in rest if item] + list(more)
""",
    "app/first.py": """\
import torch
from app.base import Base, names

DEVICE = "cuda:%d" % 0

def pick(index):
    if os.environ.get("APP_CPU") == "1":
        return "cpu"
    for each in names("cuda", index, key=1):
        try:
            value = int(each)
        except ValueError as error:
            continue
        else:
            break
    return f"cuda:{index}"

X = torch.zeros(2, device=pick(0))
""",
    "app/second.py": """\
import torch
from app.base import Base

def gen():
    yield 1
    yield from [2, 3]

class Holder(Base):
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0

    def go(self):
        with Base(2) as base:
            assert base.double == 4
            match base.size:
                case 2:
                    return torch.ones(1).cuda()
                case _:
                    return None

made = Holder()
made.extra, rest = sum(gen()), [*gen()]
total = 0
for item in gen():
    total += item
while total > 100:
    total -= 1
if total and not rest is None:
    made.go()
del total
""",
    "app/third.py": "import torch\ntorch.cuda.init()\n",
}

#: Rooms in which no failure may end a check, whatever function it is planted in.
CONTAINED = ("evaluation", "semantics", "syntax", "values")
#: In the other rooms, what every answer goes through: with it fails the check, as an internal error.
CARRYING = frozenset({
    "analysis.Analysis._observed", "analysis.Analysis.observe", "analysis._answer",
    "analysis._check_entries", "analysis._observe", "analysis._packs", "analysis._pause",
    "analysis.at_length", "analysis.prepare", "evaluation.evaluator.Evaluator.close",
    "files.discovery.Found.beside", "files.discovery._Search._is_package",
    "files.discovery._Search.add_root", "files.discovery._Search.enter", "files.discovery._Search.entries",
    "files.discovery._Search.folder", "files.discovery.discover", "files.finder.Finder.find",
    "files.packs.digest_of", "files.packs.tool_digest", "files.reading.Reader.is_folder",
    "files.reading.Reader.overlaid_in", "files.roomy_stack._call", "files.roomy_stack.with_room",
    "files.site_packages.names_in", "files.site_packages.versions", "files.workers.can_fork",
    "program.holding.Held.drop", "program.holding.Held.write", "program.loader.Loader.close",
    "program.loader.Loader.outline", "program.module.Module.outline", "program.module.Module.release",
    "program.program.Program.close", "program.program.Program.kept", "program.program.Program.loaded",
    "program.program.Program.module", "reach.remarks.Remarks.unfinished", "reach.reporter.Reporter.imports",
    "reach.reporter.Reporter.leading_to", "reach.reporter.Reporter.modules",
    "reach.reporter.Reporter.unfollowed", "reach.results.Results._along",
    "reach.results.Results._evaluate_many", "reach.results.Results._evaluate_one",
    "reach.results.Results._expanded", "reach.results.Results._share_out", "reach.results.Results.broken",
    "reach.results.Results._taken_in", "reach.results.Results.close", "reach.results.Results.evaluate",
    "reach.results.Results.unset",
    "reach.results._lanes", "reach.results.has_source", "reach.results.record_bases",
    "reach.whole_files.with_troubles",
})  # fmt: skip

STRIDE = step(12)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("isolation")
    for name, text in PROGRAM.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def whole(project: Path) -> Report:
    return check(project)


def check(project: Path) -> Report:
    """The answer for the project, with nothing beside it, in this process."""
    session = CheckSession(cache=False)
    empty = project.parent
    request = replace(configured((project,), {}, {}), search=(empty,), jobs=1, cache=False)
    return report_of(session.inspect(request))


def said(report: Report) -> set[tuple[object, ...]]:
    return {(cause.path, cause.line, cause.verdict, cause.condition) for cause in report.causes}


def faults(report: Report) -> list[str]:
    return [one.fault for one in report.unfinished if one.fault]


def room(name: str) -> str:
    return name.split(".")[2]


def test_the_program_has_something_to_lose(whole: Report) -> None:
    assert len(whole.causes) == 4
    assert faults(whole) == []


@pytest.mark.parametrize("start", range(4))
def test_a_failure_in_any_function_is_told_and_leaves_the_rest(
    project: Path, whole: Report, start: int
) -> None:
    """Of every so many functions of `source/`, one fails at its first call, or in the middle of its calls."""
    functions = functions_of("coldfork.source")
    _, counted = calls(lambda: check(project))
    tried: list[str] = []
    ended: list[str] = []
    for name, function in list(functions.items())[start * STRIDE // 4 :: STRIDE]:
        count = counted[function.__code__]
        for at in sorted({1, (count + 1) // 2}) if count else ():
            tried.append(name)
            try:
                with planted(function, at):
                    report = check(project)
            except PlantedError:
                ended.append(name)
                continue
            lost, more = said(whole) - said(report), said(report) - said(whole)
            assert faults(report) or not (lost or more), (name, at)
            assert all("planted in" in fault for fault in faults(report)), (name, at)
            if room(name) in CONTAINED:
                assert len(lost) < len(whole.causes), (name, at)
    assert len(tried) > 20
    for name in ended:
        short = name.removeprefix("coldfork.source.")
        assert room(name) not in CONTAINED or name.endswith(".close")
        assert short in CARRYING or short.endswith(".__init__")


@pytest.mark.parametrize("package", ["coldfork.rules"])
def test_a_failure_of_a_rule_costs_what_it_was_about(project: Path, whole: Report, package: str) -> None:
    _, counted = calls(lambda: check(project))
    for name, function in functions_of(package).items():
        if not counted[function.__code__] or name.rpartition(".")[2] not in (
            "judge",
            "_cause",
            "wakes",
            "cost",
        ):
            continue
        if name.endswith("causes.judging.judge"):
            continue
        with planted(function, 1):
            report = check(project)
        assert len(faults(report)) == 1, name
        assert len(report.causes) >= len(whole.causes) - 1, name


@pytest.fixture
def failing_at_division(monkeypatch: pytest.MonkeyPatch) -> None:
    """Following a binary operator fails."""

    def fail(*_: object) -> None:
        raise LookupError("no such operator")

    monkeypatch.setitem(expressions.EVALUATE, nodes.BINARY, fail)


@pytest.mark.usefixtures("failing_at_division")
def test_a_function_that_cannot_be_followed_costs_that_function(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(
        "import torch\n\ndef size(n):\n    torch.cuda.init()\n    return n / 2\n\n"
        "HALF = size(3)\nA = torch.zeros(1, device='cuda')\n"
    )
    report = check(tmp_path)
    assert [(cause.line, cause.verdict.value) for cause in report.causes] == [
        (8, "certain"),
        (4, "conditional"),
    ]
    (fault,) = [one for one in report.unfinished if one.fault]
    assert (fault.module, fault.function, fault.line, fault.own) == ("engine", "size", 5, True)
    assert fault.fault.startswith("LookupError: no such operator (")


@pytest.mark.usefixtures("failing_at_division")
def test_what_a_statement_was_to_bind_is_not_taken_for_what_it_was(tmp_path: Path) -> None:
    """A variable is unknown behind a statement that failed, and holds nothing older."""
    (tmp_path / "engine.py").write_text(
        "import torch\n\nUSE = False\nUSE = 3 / 2\nif USE:\n    torch.cuda.init()\n"
    )
    report = check(tmp_path)
    assert [(cause.line, cause.verdict.value) for cause in report.causes] == [(6, "conditional")]
    assert [(one.line, one.what) for one in report.unfinished] == [(4, "fault")]


@pytest.mark.usefixtures("failing_at_division")
def test_a_fault_of_a_dependency_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text("def half(n):\n    return n / 2\n")
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.py").write_text("from base import half\nHALF = half(3)\nprint(HALF)\n")
    report = check(tmp_path)
    assert len(report.unfinished) == 1


def test_a_statement_that_cannot_be_read_costs_that_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ast

    def fail(*_: object) -> None:
        raise LookupError("nobody thought of it")

    monkeypatch.setitem(blocks._STATEMENTS, ast.Assert, fail)
    (tmp_path / "engine.py").write_text(
        "import torch\n\ndef f():\n    assert 1\n    torch.cuda.init()\n\nf()\nassert f\n"
    )
    report = check(tmp_path)
    assert [cause.line for cause in report.causes] == [5]
    assert [(one.function, one.line) for one in report.unfinished] == [("f", 4), ("engine", 8)]


def test_every_format_says_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError("nobody thought of it")

    monkeypatch.setitem(statements.EXECUTE, nodes.ASSERT, fail)
    monkeypatch.chdir(tmp_path)
    Path("engine.py").write_text("import torch\n\nX = 1\nassert X\n")
    Path("nothing").mkdir()
    arguments = ["check", "--no-cache", "--jobs", "1", "--site-packages", "nothing", "engine.py"]

    text = CliRunner().invoke(cli, arguments)
    flat = " ".join(text.output.split())
    assert "coldfork itself failed at engine.py:4, so findings may be missing; please report it" in flat
    assert "LookupError: nobody thought of it (" in flat
    assert text.exit_code == 0
    assert CliRunner().invoke(cli, [*arguments, "--fail-on", "unknown"]).exit_code == 1

    (told,) = json.loads(CliRunner().invoke(cli, [*arguments, "--format", "json"]).output)["unfinished"]
    assert (told["what"], told["line"]) == ("fault", 4)
    assert told["fault"].startswith("LookupError: nobody thought of it (")
    (run,) = json.loads(CliRunner().invoke(cli, [*arguments, "--format", "sarif"]).output)["runs"]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    (note,) = [one for one in notes if one["level"] == "error"]
    assert "LookupError" in note["message"]["text"]


def test_what_runs_too_deep_costs_the_module_and_not_a_function_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Going on behind each of the calls that were too deep would take for ever."""

    def fail(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setitem(expressions.EVALUATE, nodes.BINARY, fail)
    (tmp_path / "deep.py").write_text("def half(n):\n    return n / 2\n\nA = half(1)\nB = half(2)\n")
    (tmp_path / "engine.py").write_text("import torch\n\ntorch.cuda.init()\n")
    report = check(tmp_path)
    assert [cause.line for cause in report.causes] == [3]
    assert [(one.module, one.line, one.what) for one in report.unfinished] == [("deep", 1, "fault")]


def test_a_failure_after_the_answer_is_told_as_well(project: Path) -> None:
    """A file that is not read to its end may hide that importing it fails."""
    with planted(WholeFiles.read, 1):  # type: ignore[arg-type]
        report = check(project)
    assert len(faults(report)) == 1
