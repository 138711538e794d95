"""Packages to be mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from coldfork.checking.request import configured
from coldfork.checking.session import CheckSession
from coldfork.mending.mender import Mending, mend
from coldfork.model.causes import Applicability

Mend = Callable[..., Mending]
#: Without an environment of its own, the packages of the one that runs the tests would be read.
CONFIGURATION = '[tool.coldfork]\nsite-packages = ["packages"]\n'


@pytest.fixture(scope="session")
def session() -> Iterator[CheckSession]:
    """One for all: what it holds of one package is of no use to the next."""
    with CheckSession(cache=False) as made:
        yield made


@pytest.fixture
def mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session: CheckSession) -> Mend:
    """Writes files, and mends what is found in the folder `pkg`, in memory."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"pyproject.toml": CONFIGURATION, "packages/readme": "", "pkg/__init__.py": ""})

    def work(files: Mapping[str, str], allowed: Applicability = Applicability.SAFE) -> Mending:
        write(tmp_path, files)
        return mend(configured((Path("pkg"),), {}, {}), session.inspect, allowed)

    return work


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
