"""The file that holds a list: what is written is read, and what a zygote makes of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import coldfork
from coldfork.launch.server import renewal
from coldfork.launch.server.preload_list import PreloadList, read, write
from coldfork.launch.server.variables import too_late
from coldfork.launch.server.zygote.handle import zygote
from coldfork.model.errors import UsageError
from tests.launch.preload.conftest import Fill
from tests.launch.zygote import targets
from tests.launch.zygote.conftest import LIMIT

pytestmark = pytest.mark.once


def test_what_is_written_is_read() -> None:
    listed = PreloadList(
        ["json", "torch.nn"],
        ["engine.worker"],
        {"HF_HOME": "huggingface_hub"},
        ["sympy.core.symbol:Dummy._prng"],
    )
    text = write(listed, ["made by\nhand"], ["left out: x"])
    assert text == (
        "# made by hand\n"
        "wanted = [\n"
        '    "engine.worker",\n'
        "]\n"
        "\n"
        "modules = [\n"
        '    "json",\n'
        '    "torch.nn",\n'
        "]\n"
        "\n"
        "# Seeded anew in each worker.\n"
        "seeds = [\n"
        '    "sympy.core.symbol:Dummy._prng",\n'
        "]\n"
        "\n"
        "# Read during these imports: if one of them changes, another server is started.\n"
        "[variables]\n"
        '"HF_HOME" = "huggingface_hub"\n'
        "\n"
        "# left out: x\n"
    )


@pytest.mark.parametrize("name", ["PLAIN", 'QUO"TED\\', "LINE\nBREAK", "ü"])
def test_names_of_variables_come_back_as_they_were(name: str, tmp_path: Path) -> None:
    file = tmp_path / "list.toml"
    file.write_text(write(PreloadList(["json"], variables={name: "by"})), encoding="utf-8")
    assert read(file).variables == {name: "by"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modules = [", "is not valid TOML"),
        ("wanted = []", "has no list `modules`"),
        ("modules = 'json'", "`modules` has to be a list of modules"),
        ("modules = ['a-b']", "`modules` has to be a list of modules"),
        ("modules = []\nseeds = ['x']", "`seeds` has to be a list of names"),
        ("modules = []\nvariables = []", "`variables` has to name a module"),
        ("modules = []\nmodule = []", "unknown key 'module'"),
    ],
)
def test_a_file_that_is_none_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "list.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        zygote(preload=file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*: No such file"):
        zygote(preload=str(tmp_path / "none.toml"))


@pytest.fixture
def listed(tmp_path: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A list of one module, which is written as well."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    def make(name: str, text: str, **more: Any) -> Path:
        fill({name: text})
        file = tmp_path / "list.toml"
        file.write_text(write(PreloadList([name], **more)), encoding="utf-8")
        return file

    return make


def answers(context: Any, function: Callable[..., object], *arguments: object) -> Any:
    queue = context.SimpleQueue()
    process = context.Process(target=function, args=(queue, *arguments))
    process.start()
    found = queue.get()
    process.join(LIMIT)
    return found


def test_a_zygote_takes_the_file(listed: Callable[..., Path]) -> None:
    with zygote(preload=listed("listed_module", "VALUE = 1\n")) as made:
        assert made.preload == ("listed_module",)
        made.wait(LIMIT)


def test_get_context_takes_it_as_well(listed: Callable[..., Path]) -> None:
    file = listed("listed_for_context", "VALUE = 1\n")
    context: Any = coldfork.get_context("zygote", preload=file)
    with context.zygote as made:
        assert made.preload == ("listed_for_context",)
        assert coldfork.get_context("zygote", preload=str(file)) is context


def test_a_generator_of_the_list_is_seeded_anew_in_each_worker(listed: Callable[..., Path]) -> None:
    text = "import random\n\nclass Holder:\n    generator = random.Random()\n"
    with zygote(preload=listed("listed_seeds", text, seeds=["listed_seeds:Holder.generator"])) as made:
        drawn = {answers(made.context, targets.draw_of, "listed_seeds") for _ in range(3)}
    assert len(drawn) == 3


def test_without_its_name_in_the_list_all_would_draw_the_same(listed: Callable[..., Path]) -> None:
    text = "import random\n\nclass Holder:\n    generator = random.Random()\n"
    with zygote(preload=listed("listed_without", text)) as made:
        drawn = {answers(made.context, targets.draw_of, "listed_without") for _ in range(3)}
    assert len(drawn) == 1


def test_numpy_and_torch_generators_are_seeded_anew() -> None:
    numpy = pytest.importorskip("numpy")
    for generator in (numpy.random.default_rng(3), numpy.random.RandomState(3)):
        before = generator.bytes(8)
        generator = (
            type(generator)(numpy.random.PCG64(3)) if hasattr(generator, "bit_generator") else generator
        )
        renewal.seed_anew(generator)
        assert generator.bytes(8) != before


def test_a_variable_of_the_list_means_another_server(
    listed: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LISTED_HOME", "one")
    text = "import os\n\nHOME = os.environ['LISTED_HOME']\n"
    file = listed("listed_reader", text, variables={"LISTED_HOME": "listed_reader"})
    with zygote(preload=file) as made:
        before = made.wait(LIMIT).pid
        assert answers(made.context, targets.tell_of, "listed_reader", "HOME") == "one"
        assert made.pid == before
        monkeypatch.setenv("LISTED_HOME", "two")
        assert answers(made.context, targets.tell_of, "listed_reader", "HOME") == "two"
        assert made.pid != before


def test_a_variable_that_a_preloaded_module_sets_is_set_in_its_workers(
    listed: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LISTED_GONE", "there")
    monkeypatch.delenv("LISTED_SET", raising=False)
    text = "import os\n\nos.environ['LISTED_SET'] = '1'\nos.environ.pop('LISTED_GONE', None)\n"
    with zygote(preload=listed("listed_setter", text)) as made:
        assert answers(made.context, targets.tell_variable, "LISTED_SET") == "1"
        assert answers(made.context, targets.tell_variable, "LISTED_GONE") is None
        # What the caller has said since is the caller's.
        monkeypatch.setenv("LISTED_SET", "mine")
        assert answers(made.context, targets.tell_variable, "LISTED_SET") == "mine"


def test_who_has_imported_the_same_has_changed_nothing(
    listed: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LISTED_COUNT", raising=False)
    text = "import os\n\nos.environ.setdefault('LISTED_COUNT', '4')\n"
    file = listed("listed_both", text, variables={"LISTED_COUNT": "listed_both"})
    with zygote(preload=file) as made:
        before = made.wait(LIMIT).pid
        monkeypatch.setenv("LISTED_COUNT", "4")
        assert answers(made.context, targets.tell_variable, "LISTED_COUNT") == "4"
        assert made.pid == before
        monkeypatch.setenv("LISTED_COUNT", "5")
        assert answers(made.context, targets.tell_variable, "LISTED_COUNT") == "5"
        assert made.pid != before


def test_what_comes_too_late() -> None:
    assert too_late({}, {"MINE": "1"}, ()) == []
    assert too_late({}, {"MINE": "1"}, (), ["MINE"]) == ["MINE"]
    assert too_late({}, {"MINE": "1"}, (), ["MINE"], {"MINE": "1"}) == []
    assert too_late({"MINE": "1"}, {}, (), ["MINE"], {"MINE": None}) == []
    assert too_late({}, {"HF_HOME": "1"}, ["huggingface_hub"], (), {"HF_HOME": "1"}) == []


def test_os_is_as_it_was() -> None:
    assert type(os.environ).__getitem__.__module__ == "os"
