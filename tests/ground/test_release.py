"""The release: cutting a version, what may be in an archive, and the papers that come with it."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

import coldfork
from release import contents, cutting, papers
from release.building import Built
from release.pythons import Python
from release.running import ReleaseError

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
METADATA = """Metadata-Version: 2.4
Name: coldfork
Version: 9.8.7
Summary: Finds a line.
License-Expression: Apache-2.0
Requires-Dist: click>=8.1.7
Requires-Dist: packaging>=23.2
Requires-Dist: pygls>=2.1; extra == 'lsp'
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The files that name a version, with two fragments that no release has told."""
    for name in ("src/coldfork/__init__.py", "CITATION.cff", "CHANGELOG.md", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    folder = tmp_path / "changelog.d"
    folder.mkdir()
    shutil.copy(ROOT / "changelog.d" / "README.md", folder)
    (folder / "7.added.md").write_text("`coldfork check` sings.\n", encoding="utf-8")
    (folder / "+pitch.fixed.md").write_text("It sings in tune.\n", encoding="utf-8")
    return tmp_path


def wheel(folder: Path, members: dict[str, str]) -> Path:
    """A wheel of version 9.8.7 that has what each must have, and more."""
    path = folder / "coldfork-9.8.7-py3-none-any.whl"
    whole = (
        dict.fromkeys(contents.NEEDED_IN_WHEEL, "")
        | {"coldfork-9.8.7.dist-info/METADATA": METADATA}
        | members
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in whole.items():
            archive.writestr(name, text)
    return path


def test_cutting_gathers_the_fragments_and_sets_the_version(repository: Path) -> None:
    cutting.cut(repository, "9.8.7")

    text = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    new = text[: text.index("## 0.2.0 (")]
    assert "## 9.8.7 (" in new
    assert "- `coldfork check` sings. (#7)" in new
    assert "- It sings in tune." in new
    assert [path.name for path in (repository / "changelog.d").iterdir()] == ["README.md"]
    assert '__version__ = "9.8.7"' in (repository / "src/coldfork/__init__.py").read_text(encoding="utf-8")
    assert "\nversion: 9.8.7\n" in (repository / "CITATION.cff").read_text(encoding="utf-8")
    assert cutting.ready(repository) == "9.8.7"


def test_a_release_tells_all_fragments_and_its_own_version(repository: Path) -> None:
    with pytest.raises(ReleaseError, match="holds 2 fragments"):
        cutting.ready(repository)
    with pytest.raises(ReleaseError, match=r"reads 0\.3\.0 or"):
        cutting.cut(repository, "v9")
    citation = repository / "CITATION.cff"
    citation.write_text(citation.read_text(encoding="utf-8").replace(coldfork.__version__, "0.0.1"), "utf-8")
    with pytest.raises(ReleaseError, match="disagree"):
        cutting.ready(repository)


def test_this_version_has_its_place_in_the_changelog() -> None:
    assert f"\n## {coldfork.__version__} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {coldfork.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_an_archive_that_names_a_folder_of_the_machine_is_refused(tmp_path: Path) -> None:
    home = Path("/somebody")
    contents.look_into(
        wheel(tmp_path, {"coldfork/a.py": "'/proc/self/somebody/x'"}), "9.8.7", (home, Path("/"))
    )
    with pytest.raises(ReleaseError, match=r"coldfork/a\.py names /somebody/"):
        contents.look_into(wheel(tmp_path, {"coldfork/a.py": "'/somebody/code'"}), "9.8.7", (home,))


@pytest.mark.parametrize(
    ("members", "version", "said"),
    [
        ({"coldfork/data": "0" * 1_900_000}, "9.8.7", "a wheel may have 1,800,000"),
        ({"coldfork/__pycache__/a.pyc": ""}, "9.8.7", r"holds coldfork/__pycache__/a\.pyc"),
        ({}, "1.0.0", r"is not of version 1\.0\.0"),
    ],
)
def test_an_archive_that_holds_too_much_is_refused(
    members: dict[str, str], version: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ReleaseError, match=said):
        contents.look_into(wheel(tmp_path, members), version, ())


def test_a_source_archive_without_its_licence_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "coldfork-9.8.7.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in contents.NEEDED_IN_SOURCE - {"LICENSE"}:
            archive.addfile(tarfile.TarInfo(f"coldfork-9.8.7/{name}"), io.BytesIO())
    with pytest.raises(ReleaseError, match="lacks LICENSE"):
        contents.look_into(path, "9.8.7", ())


def test_the_bill_lists_what_is_installed_and_what_asked_for_it(tmp_path: Path) -> None:
    made = papers.bill(
        wheel(tmp_path, {}), "9.8.7", {"Click": "8.5", "packaging": "26.3"}, "2026-11-28T00:00:00Z"
    )

    own = made["metadata"]["component"]
    assert (own["purl"], own["licenses"]) == ("pkg:pypi/coldfork@9.8.7", [{"license": {"id": "Apache-2.0"}}])
    assert [part["purl"] for part in made["components"]] == ["pkg:pypi/click@8.5", "pkg:pypi/packaging@26.3"]
    assert made["dependencies"][0]["dependsOn"] == ["pkg:pypi/click@8.5", "pkg:pypi/packaging@26.3"]


def test_the_hashes_are_those_of_the_files(tmp_path: Path) -> None:
    universal = wheel(tmp_path, {})
    source = tmp_path / "coldfork-9.8.7.tar.gz"
    source.write_bytes(b"")
    statement = papers.provenance([source, universal], "0" * 40, {"hatchling": "1.27"})

    hashes = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert hashes[source.name] == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert hashes[universal.name] == papers.sha256(universal)
    assert "0" * 40 in json.dumps(statement["predicate"]["buildDefinition"]["resolvedDependencies"])
    assert Built(source, universal, {Python(11, tmp_path): universal}).all == [source, universal, universal]
