"""The cache changes nothing but the time: whatever lies in it, the answer is the one of a cold run."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from coldfork.knowledge.known import known as known_on
from coldfork.model.effects import PROFILES
from coldfork.model.observations import Observation, Progress
from coldfork.source.files import packs as cache
from coldfork.source.files.finder import Finder
from coldfork.source.files.site_packages import Distributions
from coldfork.source.program import keeping
from coldfork.source.program.loader import Loader
from coldfork.source.program.program import Program
from coldfork.source.reach.answers import Answer
from coldfork.source.reach.encoding import Translation
from coldfork.source.reach.remembered import Remembered
from coldfork.source.reach.results import Results
from tests.source.expectations import Setting, observe, write

pytestmark = pytest.mark.once

SOURCE = Path(__file__).parents[2] / "src"
FILES = {
    "tree/pkg/__init__.py": "",
    "tree/pkg/ask.py": "import torch\n\ndef level():\n    return torch.cuda.get_device_capability()\n",
    "tree/pkg/user.py": "from pkg.ask import level\nA = level()\n",
    "tree/pkg/flags.py": "FAST = False\n",
    "tree/pkg/guarded.py": (
        "import torch\nfrom pkg import flags\nif flags.FAST:\n    torch.cuda.is_available()\n"
    ),
    "tree/pkg/dependent.py": "import dependency\nB = dependency.start()\n",
    "tree/pkg/other.py": "import json\nX = json.dumps({})\n",
    "beside/dependency.py": "def start():\n    return 1\n",
}
Told = list[tuple[str, int, str, str | None, tuple[str, ...]]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A package with a dependency beside it."""
    write(FILES, tmp_path)
    return tmp_path


def run(place: Path, *, cached: bool = True, setting: Setting | None = None) -> Observation:
    return observe(
        [place / "tree"],
        site_packages=place / "beside",
        cache=place / "cache" if cached else None,
        setting=setting or Setting(),
    )


def told(observation: Observation) -> Told:
    return [
        (one.path, one.line, one.verdict.value, one.condition, one.chain.symbols)
        for one in observation.effects
    ]


def lines(observation: Observation) -> list[tuple[str, int]]:
    return [(one.path, one.line) for one in observation.effects]


def assert_same_as_cold(place: Path) -> Observation:
    """A warm run says word for word what a run without a cache says; twice, for the first mends the cache."""
    cold = run(place, cached=False)
    for _ in range(2):
        warm = run(place)
        assert told(warm) == told(cold)
        assert warm.unreadable == cold.unreadable
        assert warm.ignores == cold.ignores
        assert warm.statistics.modules == cold.statistics.modules
    return cold


def edit(path: Path, text: str) -> None:
    """Change a file so that its times change too, however coarse they are."""
    path.write_text(text, encoding="utf-8")
    later = path.stat().st_mtime_ns + 2_000_000_000
    os.utime(path, ns=(later, later))


def packs(place: Path) -> list[Path]:
    return sorted(path for path in (place / "cache").rglob("*") if path.is_file())


def test_a_warm_run_reads_nothing_and_says_the_same(place: Path) -> None:
    first = run(place)
    assert first.statistics.read == first.statistics.modules > 0
    assert packs(place)
    second = run(place)
    assert second.statistics.read == 0
    assert second.statistics.cached == second.statistics.modules
    assert told(second) == told(first) == told(run(place, cached=False))
    assert lines(first) == [("pkg/user.py", 2)]


def test_what_waits_for_who_reads_it_is_remembered(place: Path) -> None:
    source = (
        "import torch\nclass Held:\n    level: torch.cuda.get_device_capability()\nHeld.__annotations__\n"
    )
    write({"tree/pkg/held.py": source}, place)
    setting = Setting(target_version=(3, 14))
    cold = run(place, cached=False, setting=setting)
    assert ("pkg/held.py", 4) in lines(cold)
    for read in (cold.statistics.read, 0):
        warm = run(place, setting=setting)
        assert (told(warm), warm.statistics.read) == (told(cold), read)


def test_a_module_that_took_too_long_is_remembered_with_all_others(place: Path) -> None:
    long = "def one(number):\n    return number\n\n" + "".join(f"V{n} = one({n})\n" for n in range(4_000))
    (place / "tree" / "pkg" / "long.py").write_text(long, encoding="utf-8")
    first = run(place)
    assert [one.module for one in first.unfinished] == ["pkg.long"]
    assert {path.suffix for path in packs(place)} == {".summaries", ".results", ".answers", ".whole"}
    assert run(place).unfinished == first.unfinished
    edit(place / "tree" / "pkg" / "flags.py", "import os\n")
    assert run(place).unfinished == first.unfinished


def test_packs_are_read_before_the_work_and_written_after_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pack once, the cold run's as well as one that follows what changed."""
    journey: list[str] = []
    load, save, follow = cache.load_pack, cache.save_pack, Results.evaluate

    def loaded(pack: Path) -> object:
        journey.append(f"read {pack.suffix}")
        return load(pack)

    def saved(pack: Path, data: object) -> bool:
        journey.append(f"write {pack.suffix}")
        return save(pack, data)

    def followed(
        results: Results, roots: list[str], progress: Progress | None, checked: dict[str, str]
    ) -> None:
        journey.append("work")
        follow(results, roots, progress, checked)

    monkeypatch.setattr(keeping, "load_pack", loaded)
    monkeypatch.setattr(keeping, "save_pack", saved)
    monkeypatch.setattr(Results, "evaluate", followed)
    before = ["read .whole", "read .results", "read .summaries"]
    written = ["write .results", "write .answers", "write .summaries", "write .whole"]
    run(place)
    assert journey == [*before, "work", *written]
    journey.clear()
    edit(place / "tree/pkg/flags.py", "FAST = True\n")
    run(place)
    assert journey == [*before, "work", *written]
    journey.clear()
    run(place)
    assert journey == ["read .whole", "read .results", "read .answers"]


def test_one_edited_file_is_read_again(place: Path) -> None:
    run(place)
    edit(place / "tree/pkg/user.py", "from pkg.ask import level\n\nA = 1\nB = level()\n")
    warm = run(place)
    assert warm.statistics.read == 1
    assert lines(warm) == [("pkg/user.py", 4)]
    assert_same_as_cold(place)


def test_an_edit_elsewhere_changes_what_depends_on_it(place: Path) -> None:
    run(place)
    edit(place / "tree/pkg/flags.py", "FAST = True\n")
    assert lines(run(place)) == [("pkg/guarded.py", 4), ("pkg/user.py", 2)]
    edit(place / "tree/pkg/ask.py", "def level():\n    return 1\n")
    assert lines(run(place)) == [("pkg/guarded.py", 4)]
    assert_same_as_cold(place)


def test_an_edit_of_the_same_length_is_noticed(place: Path) -> None:
    run(place)
    edit(place / "tree/pkg/flags.py", "FAST = 1    \n")
    assert lines(run(place)) == [("pkg/guarded.py", 4), ("pkg/user.py", 2)]


def test_an_edit_while_a_run_goes_on_is_seen_by_the_next(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory keeps what was read, not what is there when it is written to disk."""
    keep = Remembered.keep

    def edit_first(self: Remembered, results: Results, answer: Answer) -> None:
        edit(place / "tree/pkg/flags.py", "FAST = True\n")
        keep(self, results, answer)

    with monkeypatch.context() as patched:
        patched.setattr(Remembered, "keep", edit_first)
        assert lines(run(place)) == [("pkg/user.py", 2)]
    assert lines(run(place)) == [("pkg/guarded.py", 4), ("pkg/user.py", 2)]
    assert_same_as_cold(place)


def test_a_touched_file_stays_known(place: Path) -> None:
    run(place)
    os.utime(place / "tree/pkg/ask.py", (1, 1))
    warm = run(place)
    assert warm.statistics.read == 0
    assert_same_as_cold(place)


def test_an_edited_dependency_is_read_again(place: Path) -> None:
    run(place)
    edit(
        place / "beside/dependency.py", "import torch\n\ndef start():\n    return torch.cuda.is_available()\n"
    )
    assert lines(run(place)) == [("pkg/dependent.py", 2), ("pkg/user.py", 2)]
    edit(
        place / "beside/dependency.py",
        "import torch\ntorch.cuda.is_available()\n\ndef start():\n    return 1\n",
    )
    assert lines(run(place)) == [("pkg/dependent.py", 1), ("pkg/user.py", 2)]
    assert_same_as_cold(place)


ENGINE = {
    "tree/pkg/engine.py": (
        "from pkg.base import Platform\n\ndef ask(platform: Platform):\n    return platform.level()\n"
        "def current() -> Platform:\n    return eval('x')\nLEVEL = ask(current())\n"
    ),
    "tree/pkg/base.py": "class Platform:\n    def level(self):\n        return 0\n",
    "tree/pkg/cuda.py": "import torch\nfrom pkg.base import Platform\n",
}
DERIVED = (
    "\n\nclass Cuda(Platform):\n    def level(self):\n        return torch.cuda.get_device_capability()\n"
)


def test_a_class_that_begins_to_derive_is_seen_where_nothing_names_its_module(place: Path) -> None:
    write(ENGINE, place)
    assert lines(run(place)) == [("pkg/user.py", 2)]
    edit(place / "tree/pkg/cuda.py", ENGINE["tree/pkg/cuda.py"] + DERIVED)
    assert ("pkg/engine.py", 7) in lines(run(place))
    assert_same_as_cold(place)
    edit(place / "tree/pkg/cuda.py", ENGINE["tree/pkg/cuda.py"])
    assert lines(run(place)) == [("pkg/user.py", 2)]
    assert_same_as_cold(place)


def test_an_edit_of_what_dispatches_still_sees_classes_that_were_not_read_again(place: Path) -> None:
    write(ENGINE, place)
    edit(place / "tree/pkg/cuda.py", ENGINE["tree/pkg/cuda.py"] + DERIVED)
    run(place)
    edit(place / "tree/pkg/engine.py", "X = 1\n" + ENGINE["tree/pkg/engine.py"])
    assert ("pkg/engine.py", 8) in lines(run(place))
    assert_same_as_cold(place)


def test_an_edit_that_leaves_all_classes_alone_spares_what_dispatches(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(ENGINE, place)
    run(place)
    edit(place / "tree/pkg/other.py", "X = 1\n")
    followed: list[str] = []
    follow = Results._evaluate_one

    def noted(results: Results, name: str) -> object:
        followed.append(name)
        return follow(results, name)

    monkeypatch.setattr(Results, "_evaluate_one", noted)
    run(place)
    assert followed == ["pkg.other"]


def test_a_dependency_that_an_edit_brings_in_may_hold_classes_that_derive(place: Path) -> None:
    write(ENGINE, place)
    write({"beside/extra.py": ENGINE["tree/pkg/cuda.py"] + DERIVED}, place)
    run(place)
    edit(place / "tree/pkg/other.py", "import extra\n")
    assert ("pkg/engine.py", 7) in lines(run(place))
    assert_same_as_cold(place)


def test_added_and_removed_files(place: Path) -> None:
    run(place)
    write({"tree/pkg/fresh.py": "from pkg.ask import level\nC = level()\n"}, place)
    assert ("pkg/fresh.py", 2) in lines(run(place))
    (place / "tree/pkg/ask.py").unlink()
    assert lines(run(place)) == []
    write({"tree/pkg/ask/__init__.py": FILES["tree/pkg/ask.py"]}, place)
    assert ("pkg/user.py", 2) in lines(run(place))
    shutil.rmtree(place / "beside")
    (place / "beside").mkdir()
    assert ("pkg/user.py", 2) in lines(run(place))
    assert_same_as_cold(place)


def test_a_module_that_appears_where_one_was_missing(place: Path) -> None:
    write(
        {"tree/pkg/maybe.py": "try:\n    from extra import go\nexcept ImportError:\n    go = int\ngo()\n"},
        place,
    )
    run(place)
    write({"beside/extra.py": "import torch\ngo = torch.cuda.is_available\n"}, place)
    assert ("pkg/maybe.py", 5) in lines(run(place))
    (place / "beside/extra.py").unlink()
    assert ("pkg/maybe.py", 5) not in lines(run(place))
    assert_same_as_cold(place)


def test_a_package_that_appears_where_something_inside_it_was_missing(place: Path) -> None:
    """Of a package that is not here, what lies inside it is not kept in mind one by one."""
    source = "try:\n    import extra.deep.inner as inner\nexcept ImportError:\n    inner = None\ninner.go()\n"
    write({"tree/pkg/maybe.py": source}, place)
    run(place)
    inner = "import torch\ngo = torch.cuda.is_available\n"
    write({"beside/extra/__init__.py": "", "beside/extra/deep/__init__.py": ""}, place)
    assert ("pkg/maybe.py", 5) not in lines(run(place))
    write({"beside/extra/deep/inner.py": inner}, place)
    assert ("pkg/maybe.py", 5) in lines(run(place))
    assert_same_as_cold(place)


def test_a_file_that_makes_way_for_a_package_with_what_was_missing_in_it(place: Path) -> None:
    """Of a plain module, what is not in it is not kept in mind one by one either."""
    write(
        {
            "beside/extra.py": "",
            "tree/pkg/maybe.py": "try:\n    from extra import go\nexcept ImportError:\n    go = int\ngo()\n",
        },
        place,
    )
    assert ("pkg/maybe.py", 5) not in lines(run(place))
    (place / "beside/extra.py").unlink()
    write(
        {"beside/extra/__init__.py": "", "beside/extra/go.py": "import torch\ntorch.cuda.is_available()\n"},
        place,
    )
    assert ("pkg/maybe.py", 2) in lines(run(place))
    assert_same_as_cold(place)


def test_dependencies_are_the_same_modules_in_the_order_of_another_process() -> None:
    names = [f"m{number}" for number in range(70)]
    shuffled = random.Random(0).sample(names, len(names))
    profile = PROFILES["cuda"]
    finder, known = Finder((), ()), known_on(profile, {})
    loader = Loader((3, 13), 1, remembering=False)
    program = Program(finder, loader, known, profile, (3, 13), Distributions(()))
    for name in names:
        program.bit(name)
    translate = Translation(["*", *shuffled], program)
    for seed in range(20):
        chosen = random.Random(seed).sample(range(1, 71), seed * 3)
        wanted = sum(program.bit(shuffled[index - 1]) for index in chosen)
        assert translate(sum(1 << index for index in chosen)) == wanted


def test_a_local_module_that_comes_before_an_installed_one(place: Path) -> None:
    run(place)
    write(
        {"tree/dependency/__init__.py": "import torch\ndef start():\n    return torch.cuda.is_available()\n"},
        place,
    )
    assert ("pkg/dependent.py", 2) in lines(run(place))
    assert_same_as_cold(place)


def test_an_ignore_comment_that_comes_and_goes(place: Path) -> None:
    run(place)
    edit(place / "tree/pkg/user.py", "from pkg.ask import level\nA = level()  # coldfork: ignore[x] reason\n")
    assert len(run(place).ignores) == 1
    assert len(run(place).ignores) == 1
    assert_same_as_cold(place)


def test_an_unreadable_file_that_is_mended(place: Path) -> None:
    write({"tree/pkg/bad.py": "x = (\n"}, place)
    assert [one.path for one in run(place).unreadable] == ["pkg/bad.py"]
    assert [one.path for one in run(place).unreadable] == ["pkg/bad.py"]
    edit(place / "tree/pkg/bad.py", "x = ()\n")
    assert run(place).unreadable == ()
    assert_same_as_cold(place)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda raw: b"",
    "cut in the head": lambda raw: raw[:9],
    "cut in the checksum": lambda raw: raw[:24],
    "cut in the middle": lambda raw: raw[: len(raw) // 2],
    "cut at the end": lambda raw: raw[:-1],
    "longer": lambda raw: raw + b"more",
    "one bit": lambda raw: raw[:-9] + bytes([raw[-9] ^ 1]) + raw[-8:],
    "garbage": lambda raw: bytes(range(256)) * 20,
    "another format": lambda raw: b"PK\x03\x04" + raw,
    "a pickle": lambda raw: b"\x80\x04\x95" + raw[3:],
    "another version": lambda raw: raw.replace(b"coldfork pack 1", b"coldfork pack 0", 1),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_packs_are_as_good_as_none(kind: str, place: Path) -> None:
    first = run(place)
    assert len(packs(place)) >= 2
    for pack in packs(place):
        pack.write_bytes(DAMAGE[kind](pack.read_bytes()))
    again = run(place)
    assert told(again) == told(first)
    assert again.statistics.read == again.statistics.modules
    assert run(place).statistics.read == 0, "the pack was not mended"


@pytest.mark.parametrize(
    "data",
    [
        None, 1, [], {}, {"key": 1}, {"key": "k", "names": [], "places": [], "results": {}}, "text",
        {"x": (1, 2)},
        {"tree/pkg/ask.py": ()},
    ],
)  # fmt: skip
def test_foreign_data_in_a_sound_pack(data: object, place: Path) -> None:
    first = run(place)
    for pack in packs(place):
        assert cache.save_pack(pack, data)
    assert told(run(place)) == told(first)


def test_packs_swapped_for_each_other(place: Path) -> None:
    first = run(place)
    one, *others = packs(place)
    for other in others:
        raw = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(raw)
    assert told(run(place)) == told(first)


def test_folders_in_the_packs_places(place: Path) -> None:
    first = run(place)
    for pack in packs(place):
        pack.unlink()
        pack.mkdir()
    assert told(run(place)) == told(first)


def test_another_version_of_the_tool_starts_afresh(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(place)
    from coldfork.source import analysis

    monkeypatch.setattr(analysis, "tool_digest", lambda: "another tool")
    again = run(place)
    assert again.statistics.read == again.statistics.modules
    monkeypatch.undo()
    assert run(place).statistics.read == 0, "the packs of one tool drove out those of another"


def test_profiles_versions_and_targets_are_kept_apart(place: Path) -> None:
    write({"tree/pkg/query.py": "import torch\n\ndef f(x: torch.cuda.device_count()): ...\n"}, place)
    answers = {}
    settings = [
        Setting(profile=profile, target_version=target)
        for profile in ("cuda", "cuda-without-nvml", "cpu")
        for target in ((3, 11), (3, 14))
    ]
    for _ in range(2):
        for setting in settings:
            warm = told(run(place, setting=setting))
            assert warm == told(run(place, cached=False, setting=setting))
            answers[setting] = warm
    assert len({str(answer) for answer in answers.values()}) >= 4
    write({"beside/torch-1.12.0.dist-info/METADATA": "Name: torch\n"}, place)
    assert_same_as_cold(place)


def test_entries_share_the_cache_and_keep_their_answers(place: Path) -> None:
    run(place)
    only = Setting(entries=("pkg.other",))
    assert run(place, setting=only).effects == ()
    assert lines(run(place)) == [("pkg/user.py", 2)]


def test_a_folder_that_cannot_be_written(place: Path) -> None:
    """Where the cache should lie, there is a file: nothing can be written, and nobody is troubled."""
    (place / "cache").write_text("in the way")
    for _ in range(2):
        assert lines(run(place)) == [("pkg/user.py", 2)]
    assert (place / "cache").read_text() == "in the way"


@pytest.mark.skipif(
    not Path("/proc/version").exists(), reason="there is no folder here that nobody can write"
)
def test_a_read_only_folder(place: Path) -> None:
    (place / "cache").symlink_to("/proc/self", target_is_directory=True)
    for _ in range(2):
        assert lines(run(place)) == [("pkg/user.py", 2)]


def test_no_temporary_files_stay(place: Path) -> None:
    run(place)
    run(place)
    assert not [path for path in packs(place) if path.suffix == ".tmp"]


PROGRAM = """
import sys
sys.path[:0] = [{source!r}]
from pathlib import Path
from coldfork.knowledge.known import known as known_on
from coldfork.model.effects import PROFILES
from coldfork.source.analysis import Request, analyse
known = known_on(PROFILES["cuda"], {{}})
place = Path({place!r})
sys.stdin.readline()
for _ in range({times}):
    beside, stored = (place / "beside",), place / "cache"
    seen = analyse(Request((place / "tree",), PROFILES["cuda"], known, search=beside, jobs=1, cache=stored))
    print([(effect.path, effect.line) for effect in seen.effects])
"""


def test_runs_at_once_do_not_mix(place: Path) -> None:
    """Real processes that start together, while the files they read are edited and the packs replaced."""
    many = {
        f"tree/pkg/many{number}.py": f"from pkg.ask import level\nX{number} = {number}\nY = level()\n"
        for number in range(60)
    }
    write(many, place)
    program = textwrap.dedent(PROGRAM).format(source=str(SOURCE), place=str(place), times=6)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    expected = [(f"pkg/many{number}.py", 3) for number in range(60)] + [("pkg/user.py", 2)]
    for process in running:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        for line in out.splitlines():
            assert sorted(eval(line)) == sorted(expected)
        assert len(out.splitlines()) == 6
    assert not [path for path in packs(place) if path.suffix == ".tmp"]
    assert_same_as_cold(place)


def test_several_processes_give_the_answer_of_one(place: Path) -> None:
    """Enough modules that helpers pay; what they bring is what one process says."""
    body = "".join(f"def f{number}(x):\n    return x + {number}\n" for number in range(150))
    many = {
        f"tree/pkg/many{number}.py": f"from pkg.ask import level\n{body}\nY = level()\n"
        for number in range(300)
    }
    write(many, place)
    alone = observe([place / "tree"], site_packages=place / "beside", jobs=1)
    together = observe([place / "tree"], site_packages=place / "beside", jobs=2, cache=place / "cache")
    warm = observe([place / "tree"], site_packages=place / "beside", jobs=2, cache=place / "cache")
    assert told(alone) == told(together) == told(warm)
    assert len(alone.effects) == 301
    assert warm.statistics.read == 0
    edit(place / "tree/pkg/ask.py", "def level():\n    return 1\n")
    edited = observe([place / "tree"], site_packages=place / "beside", jobs=2, cache=place / "cache")
    assert edited.effects == ()


def test_what_is_told_does_not_hang_on_the_number_of_processes(place: Path) -> None:
    """Slow modules are not followed for ever: which modules came first must be the same everywhere."""
    steps = "\n".join(f"    parts.append(len(name) + {number})" for number in range(700))
    slow = f"class Cuda:\n    cuda = True\n\ndef chosen(name):\n    parts = []\n{steps}\n    return Cuda()\n"
    user = "import torch\nfrom pkg.slow import chosen\nif chosen({name!r}).cuda:\n    torch.cuda.init()\n"
    many = {f"tree/pkg/many{number}.py": user.format(name=f"many{number}") for number in range(300)}
    write({"tree/pkg/slow.py": slow, **many}, place)
    alone, *together = (told(observe([place / "tree"], jobs=jobs)) for jobs in (1, 2, 3, 2))
    assert len(alone) > 300
    assert all(one == alone for one in together)
