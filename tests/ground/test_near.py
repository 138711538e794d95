"""`./dev test --near` in a small checkout with git, and on this one: what it chooses and what it says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(shutil.which("git") is None, reason="what changed is asked of git"),
]

FILES = {
    "src/coldfork/__init__.py": """
        TYPE_CHECKING = False
        if TYPE_CHECKING:
            from coldfork.start.guard import guard as guard
        _HOME_OF = {"guard": "coldfork.start.guard"}
        def __getattr__(name): ...
    """,
    "src/coldfork/__main__.py": "from coldfork.cli.main import main\n",
    "src/coldfork/model/words.py": "",
    "src/coldfork/report/formats.py": "FORMATS = {'json': 'coldfork.report.json_format'}\n",
    "src/coldfork/report/json_format.py": "from coldfork.model import words\n",
    "src/coldfork/report/painted.py": """
        TYPE_CHECKING = False
        if TYPE_CHECKING:
            from coldfork.report.colour import Colour
        def paint():
            from coldfork.report import brush
    """,
    "src/coldfork/report/colour.py": "",
    "src/coldfork/report/brush.py": "",
    "src/coldfork/report/page.py": "ASSET = ('assets', 'page.css')\n",
    "src/coldfork/report/assets/page.css": "",
    "src/coldfork/start/guard.py": "from coldfork.model import words\n",
    "src/coldfork/cli/main.py": """
        from coldfork.model import words
        COMMANDS = {"check": ("coldfork.cli.check:check", "F."), "rule": ("coldfork.cli.rule:rule", "S.")}
    """,
    "src/coldfork/cli/check.py": "from coldfork.report import formats\n",
    "src/coldfork/cli/rule.py": "",
    "tests/conftest.py": "",
    "tests/cli/asked.py": "PROGRAM = ['-m', 'coldfork']\n",
    "tests/cli/test_check.py": "from tests.cli.asked import PROGRAM\nCHECK = [*PROGRAM, 'check', '-q']\n",
    "tests/cli/test_rule.py": "COMMAND = ('python', '-m', 'coldfork', 'rule')\n",
    "tests/docs/test_page.py": "PAGES = ('docs', 'tutorial.md')\n",
    "tests/ground/test_all.py": "",
    "tests/report/conftest.py": "from coldfork.report import page\n",
    "tests/report/test_json.py": "from coldfork.report.json_format import render\n",
    "tests/report/test_painted.py": "import coldfork.report.painted\n",
    "tests/start/program.py": "import coldfork\ncoldfork.guard()\n",
    "tests/start/test_guard.py": "PROGRAM = 'program.py'\n",
    "tests/start/test_written.py": "PROGRAM = 'import sys; from coldfork import guard; guard()'\n",
    "docs/tutorial.md": "",
    "docs/other.md": "",
    "pyproject.toml": "",
    "LICENSE": "",
    ".gitignore": "__pycache__/\n",
}
TOOL = ("near.py", "dependence.py", "file_texts.py")
ALL = sorted(name for name in FILES if "/test_" in name)
ALWAYS = ["tests/ground/test_all.py"]


class Clone:
    """A checkout with the tool in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in FILES.items():
            self.write(name, text)
        (root / "tools").mkdir()
        for name in TOOL:
            shutil.copy(ROOT / "tools" / name, root / "tools")
        self.git("init", "--quiet")
        self.commit()

    def write(self, name: str, text: str) -> None:
        """Write a file, whose text may be indented as this one is."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("\n        ", "\n"), encoding="utf-8")

    def git(self, *arguments: str) -> None:
        """Run git as somebody."""
        someone = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *someone, *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self) -> None:
        """Commit what is there."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "m")

    def near(self, *arguments: str) -> tuple[list[str], str]:
        """The test files chosen, and the sentence."""
        done = near(self.root, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr


def near(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return what the tool says of a checkout."""
    command = [sys.executable, str(root / "tools" / "near.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A checkout that no test writes to."""
    return Clone(tmp_path_factory.mktemp("clone"))


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


@pytest.fixture(scope="module")
def tool() -> Iterator[Any]:
    """The tool itself, without a process of its own."""
    sys.path.insert(0, str(ROOT / "tools"))
    yield import_module("near")
    sys.path.remove(str(ROOT / "tools"))
    for name in TOOL:
        del sys.modules[name.removesuffix(".py")]


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/coldfork/report/painted.py", ["tests/report/test_painted.py"]),
        ("src/coldfork/report/colour.py", ["tests/report/test_painted.py"]),
        ("src/coldfork/report/brush.py", ["tests/report/test_painted.py"]),
        ("src/coldfork/report/json_format.py", ["tests/cli/test_check.py", "tests/report/test_json.py"]),
        ("src/coldfork/cli/rule.py", ["tests/cli/test_rule.py"]),
        ("src/coldfork/cli/main.py", ["tests/cli/test_check.py", "tests/cli/test_rule.py"]),
        ("src/coldfork/start/guard.py", ["tests/start/test_guard.py", "tests/start/test_written.py"]),
        (
            "src/coldfork/report/assets/page.css",
            ["tests/report/test_json.py", "tests/report/test_painted.py"],
        ),
        ("tests/cli/asked.py", ["tests/cli/test_check.py"]),
        ("tests/start/program.py", ["tests/start/test_guard.py"]),
        ("tests/report/test_json.py", ["tests/report/test_json.py"]),
        ("docs/tutorial.md", ["tests/docs/test_page.py"]),
        ("LICENSE", []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_change_picks_the_tests_that_can_notice_it(
    unchanged: Clone, tool: Any, changed: str, tests: list[str]
) -> None:
    chosen = tool.choose(unchanged.root, [changed]).tests
    assert list(chosen) == sorted(tests + ALWAYS)


def test_a_model_of_everything_picks_nearly_everything(unchanged: Clone) -> None:
    chosen, _ = unchanged.near("--changed", "src/coldfork/model/words.py")
    apart = {"tests/docs/test_page.py", "tests/report/test_painted.py"}
    assert chosen == [name for name in ALL if name not in apart]


@pytest.mark.parametrize("common", ["pyproject.toml", "tests/conftest.py"])
def test_what_every_test_runs_with_picks_all(unchanged: Clone, tool: Any, common: str) -> None:
    reason = f"all tests, because every test runs with {common}"
    assert tool.choose(unchanged.root, [common]) == tool.Choice((), reason)


def test_it_says_what_it_chose_and_why(unchanged: Clone) -> None:
    _, said = unchanged.near("--changed", "src/coldfork/cli/rule.py")
    assert said == (
        "near: 2 of 8 test files: tests/ground/ and what depends on src/coldfork/cli/rule.py, "
        "as tests/cli/test_rule.py does on src/coldfork/cli/rule.py\n"
    )
    assert unchanged.near() == (ALWAYS, "near: 1 of 8 test files: nothing changed, so only tests/ground/\n")


def test_changed_is_what_differs_from_the_base_and_what_is_new(clone: Clone) -> None:
    clone.write("src/coldfork/cli/rule.py", "CHANGED = 1\n")
    clone.write("tests/report/test_new.py", "")
    both = [*ALWAYS, "tests/report/test_new.py"]
    assert clone.near()[0] == sorted(["tests/cli/test_rule.py", *both])
    clone.commit()
    assert clone.near()[0] == ALWAYS
    assert clone.near("HEAD~1")[0] == sorted(["tests/cli/test_rule.py", *both])


def test_a_deleted_module_picks_who_still_imports_it(clone: Clone) -> None:
    (clone.root / "src/coldfork/report/brush.py").unlink()
    assert clone.near()[0] == sorted(["tests/report/test_painted.py", *ALWAYS])


def test_a_file_that_cannot_be_read_picks_all(clone: Clone) -> None:
    clone.write("src/coldfork/cli/rule.py", "def\n")
    chosen, said = clone.near()
    assert chosen == []
    assert said.startswith("near: all tests, because src/coldfork/cli/rule.py cannot be read: invalid syntax")


def test_an_unknown_base_is_an_error(unchanged: Clone) -> None:
    done = near(unchanged.root, "no-such-commit")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("near: cannot tell what changed since no-such-commit: fatal: bad revision")


def test_of_this_checkout_a_leaf_picks_few_and_a_model_nearly_all(tool: Any) -> None:
    checkout = tool.Checkout(ROOT)
    every = {path for path in checkout.files if tool.is_test(path)}
    few = set(tool.choose_in(checkout, frozenset({"src/coldfork/cli/commands/completion.py"})).tests)
    assert {"tests/cli/test_completion.py", "tests/ground/test_near.py"} < few
    assert not any(name.startswith(("tests/source/", "tests/virtual/", "tests/observe/")) for name in few)
    many = set(tool.choose_in(checkout, frozenset({"src/coldfork/model/errors.py"})).tests)
    assert few < many < every
    assert len(many) > len(every) * 3 / 4
