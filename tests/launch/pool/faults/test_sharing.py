"""One server for pools and contexts of equal terms: what is shared, what is not, and what is left."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import coldfork
from coldfork.launch.server.zygote import sharing
from tests.launch.pool.faults.leftovers import not_ended
from tests.launch.pool.faults.tasks import LIMIT, double

MODULE = "counted_as_it_is_imported"
SOURCE = """
import os
with open(os.environ["IMPORTED"], "a") as stream:
    stream.write(f"{os.getpid()}\\n")
while os.path.exists(os.environ["IMPORTED"] + ".wait"):
    pass
"""


class Imports:
    """A module that notes each import of it, and takes as long as somebody wants."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / f"{MODULE}.py"
        self.file.write_text(SOURCE, encoding="utf-8")
        self.noted = folder / "imported"
        self.noted.touch()
        self.lasting = folder / "imported.wait"

    @property
    def servers(self) -> list[int]:
        """The processes that have imported it, or have begun to."""
        return [int(line) for line in self.noted.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Imports:
    made = Imports(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("IMPORTED", str(made.noted))
    return made


@pytest.fixture
def kept_for_long(_nothing_left: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Servers that nobody has end when the test does, and not in the midst of it."""
    monkeypatch.setattr(sharing, "KEPT_SECONDS", LIMIT)
    yield
    sharing.servers(os.getpid()).end_kept()


def used(pool: Any) -> Any:
    """A pool that has done something."""
    assert pool.submit(double, 4).result(LIMIT) == 8
    return pool


def test_pools_that_are_open_at_once_have_one_server(make: Callable[..., Any], imports: Imports) -> None:
    first, second = used(make(1, preload=[MODULE])), used(make(2, preload=[MODULE]))
    assert len(imports.servers) == 1
    first.shutdown()
    used(second)
    assert not_ended(imports.servers[1:]) == []
    assert len(imports.servers) == 1


@pytest.mark.usefixtures("kept_for_long")
def test_a_pool_after_another_has_its_server(imports: Imports) -> None:
    for _ in range(3):
        with coldfork.WorkerPool(1, preload=[MODULE]) as pool:
            used(pool)
    assert len(imports.servers) == 1


def test_a_server_that_nobody_has_any_more_ends(imports: Imports) -> None:
    with coldfork.WorkerPool(1, preload=[MODULE]) as pool:
        used(pool)
    assert len(imports.servers) == 1
    assert not_ended(imports.servers) == []


@pytest.mark.usefixtures("kept_for_long")
def test_who_forks_finds_neither_a_server_that_is_kept_nor_a_thread(imports: Imports) -> None:
    with coldfork.WorkerPool(1, preload=[MODULE]) as pool:
        used(pool)
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    assert not_ended(imports.servers) == []
    assert [thread for thread in threading.enumerate() if "kept" in thread.name] == []


@pytest.mark.usefixtures("kept_for_long")
def test_a_context_and_a_pool_have_one_server(imports: Imports) -> None:
    with coldfork.zygote([MODULE]) as zygote:
        zygote.wait(LIMIT)
        with coldfork.WorkerPool(1, preload=[MODULE]) as pool:
            used(pool)
        process = zygote.context.Process(target=double, args=(4,))
        process.start()
        process.join(LIMIT)
        assert process.exitcode == 0
    assert len(imports.servers) == 1
    # Whoever closes it by itself wants its end at once.
    assert not_ended(imports.servers) == []


@pytest.mark.usefixtures("kept_for_long")
@pytest.mark.parametrize("options", [{"env": {"MORE": "1"}}, {"preload": [MODULE, "json"]}], ids=str)
def test_other_terms_have_another_server(
    make: Callable[..., Any], imports: Imports, options: dict[str, Any]
) -> None:
    used(make(1, preload=[MODULE]))
    used(make(1, **{"preload": [MODULE], **options}))
    assert len(imports.servers) == 2


@pytest.mark.usefixtures("kept_for_long")
def test_another_environment_folder_or_path_has_another_server(
    make: Callable[..., Any], imports: Imports, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    used(make(1, preload=[MODULE]))
    monkeypatch.setenv("READ_BY_SOMETHING_THAT_IS_IMPORTED", "1")
    used(make(1, preload=[MODULE]))
    monkeypatch.chdir(tmp_path)
    used(make(1, preload=[MODULE]))
    monkeypatch.syspath_prepend(str(tmp_path / "more"))
    used(make(1, preload=[MODULE]))
    assert len(imports.servers) == 4
    used(make(1, preload=[MODULE]))
    assert len(imports.servers) == 4


@pytest.mark.usefixtures("kept_for_long")
def test_a_module_that_was_written_anew_is_imported_anew(imports: Imports) -> None:
    with coldfork.WorkerPool(1, preload=[MODULE]) as pool:
        used(pool)
    imports.file.write_text(f"{SOURCE}NEW = 3\n", encoding="utf-8")
    with coldfork.WorkerPool(1, preload=[MODULE]) as pool:
        assert pool.submit(of_the_module, "NEW").result(LIMIT) == 3
    assert len(imports.servers) == 2
    assert not_ended(imports.servers[:1]) == []


def of_the_module(name: str) -> object:
    from importlib import import_module

    return getattr(import_module(MODULE), name, None)


@pytest.mark.usefixtures("kept_for_long")
def test_a_server_that_was_killed_is_given_to_nobody(imports: Imports) -> None:
    with coldfork.WorkerPool(1, preload=[MODULE]) as pool:
        used(pool)
    os.kill(imports.servers[0], 9)
    assert not_ended(imports.servers) == []
    with coldfork.WorkerPool(1, preload=[MODULE]) as pool:
        used(pool)
    assert len(imports.servers) == 2


def test_who_leaves_does_not_wait_for_a_server_that_others_wait_for(
    make: Callable[..., Any], imports: Imports
) -> None:
    imports.lasting.touch()
    first, second = make(1, preload=[MODULE]), make(1, preload=[MODULE])
    asked = second.submit(double, 4)
    first.shutdown()
    assert not asked.done()
    imports.lasting.unlink()
    assert asked.result(LIMIT) == 8
    assert len(imports.servers) == 1


def test_the_last_who_leaves_ends_a_server_that_still_imports(
    make: Callable[..., Any], imports: Imports
) -> None:
    imports.lasting.touch()
    first, second = make(1, preload=[MODULE]), make(1, preload=[MODULE])
    first.shutdown()
    second.shutdown()
    assert not_ended(imports.servers) == []


def test_a_module_that_cannot_be_preloaded_fails_for_each_who_asks(
    make: Callable[..., Any], imports: Imports
) -> None:
    imports.file.write_text("raise ValueError('never')\n", encoding="utf-8")
    for pool in (make(1, preload=[MODULE]), make(1, preload=[MODULE])):
        with pytest.raises(coldfork.PoolBrokenError, match="never"):
            pool.submit(double, 4).result(LIMIT)


def test_a_child_of_the_caller_has_a_server_of_its_own(make: Callable[..., Any], imports: Imports) -> None:
    used(make(1, preload=[MODULE]))
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            with coldfork.WorkerPool(1, preload=[MODULE]) as pool:
                used(pool)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    assert len(imports.servers) == 2
