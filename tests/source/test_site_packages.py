"""Where dependencies are looked for: the folders that were named, an interpreter's, or this one's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from coldfork.model.errors import UsageError
from coldfork.source.files.site_packages import Distributions, search_path, versions


def folder(*parts: str | Path) -> Path:
    """A folder that exists."""
    made = Path(*parts)
    made.mkdir(parents=True)
    return made


def test_an_interpreter_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "bin" / "python"
    with pytest.raises(UsageError, match=r"^--python .*/bin/python: no such file$"):
        search_path(missing, ())


def test_an_interpreter_without_site_packages_is_refused(tmp_path: Path) -> None:
    (folder(tmp_path, "bin") / "python").touch()
    with pytest.raises(UsageError, match="no site-packages folder beside it"):
        search_path(tmp_path / "bin" / "python", ())


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--site-packages .*/missing: no such folder$"):
        search_path(None, (tmp_path / "missing",))


@pytest.mark.parametrize(
    "place", ["lib/python3.12/site-packages", "lib64/python3.12/site-packages", "Lib/site-packages"]
)
@pytest.mark.parametrize("named", ["bin/python", "."])
def test_an_interpreter_or_its_folder(place: str, named: str, tmp_path: Path) -> None:
    (folder(tmp_path, "bin") / "python").touch()
    packages = folder(tmp_path, place)
    assert search_path(tmp_path / named, ()) == (packages,)


def test_one_folder_under_two_names_counts_once(tmp_path: Path) -> None:
    packages = folder(tmp_path, "lib/python3.12/site-packages")
    (tmp_path / "lib64").symlink_to("lib")
    assert search_path(tmp_path, ()) == (packages,)


def test_a_linked_interpreter_is_looked_up_where_it_lies(tmp_path: Path) -> None:
    packages = folder(tmp_path, "real/lib/python3.12/site-packages")
    (folder(tmp_path, "real/bin") / "python").touch()
    (folder(tmp_path, "linked/bin") / "python").symlink_to(tmp_path / "real/bin/python")
    assert search_path(tmp_path / "linked/bin/python", ()) == (packages,)
    own = folder(tmp_path, "linked/lib/python3.12/site-packages")
    assert search_path(tmp_path / "linked/bin/python", ()) == (own,)


def test_the_environment_that_is_active(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    active = folder(tmp_path, "active/lib/python3.12/site-packages")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    assert search_path(None, ()) == (active,)
    near = folder(tmp_path, ".venv/lib/python3.12/site-packages")
    assert search_path(None, ()) == (active,)
    monkeypatch.delenv("VIRTUAL_ENV")
    assert [one.resolve() for one in search_path(None, ())] == [near]


def test_what_coldfork_itself_runs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    folders = [folder(tmp_path, name) for name in ("a/site-packages", "b/dist-packages", "c/lib")]
    missing = tmp_path / "d" / "site-packages"
    monkeypatch.setattr(sys, "path", [*map(str, folders), str(missing), ""])
    assert search_path(None, ()) == (folders[0], folders[1])


def test_pth_files_add_folders_and_run_nothing(tmp_path: Path) -> None:
    first, second, third = (folder(tmp_path, name) for name in ("first", "first/inner", "third"))
    (first / "a.pth").write_text(f"# {third}\nimport third\nimport\tthird\n\n  inner  \nmissing\n")
    (first / ".hidden.pth").write_text(str(third))
    (first / "b.txt").write_text(str(third))
    assert search_path(None, (first,)) == (first, second)
    (first / "b.pth").write_text(f"{third}\n{second}\n")
    assert search_path(None, (first,)) == (first, second, third)


def test_a_pth_file_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    folder(tmp_path, "a.pth")
    (tmp_path / "b.pth").write_bytes(b"inner\n\xff\n")
    inner = folder(tmp_path, "inner")
    assert search_path(None, (tmp_path,)) == (tmp_path, inner)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("MAPPING: dict[str, str] = {'pkg': '%s/src/pkg'}\n", True),
        ("MAPPING = {'pkg': '%s/src/pkg'}\n", True),
        ("MAPPING = {\n'pkg': '%s/src/pkg',\n}\n", True),
        ("OTHER = {'pkg': '%s/src/pkg'}\n", False),
        ("MAPPING = {'pkg': call('%s')}\n", False),
        ("MAPPING = {'pkg': ('%s',)}\n", False),
        ("MAPPING = {'%s'}\n", False),
        ("MAPPING = {'%s'\n", False),
    ],
)
def test_editable_installs_are_read_as_data(text: str, found: bool, tmp_path: Path) -> None:
    source = folder(tmp_path, "src")
    packages = folder(tmp_path, "site-packages")
    (packages / "__editable___pkg_finder.py").write_text(text % tmp_path)
    (packages / "__editable___pkg_other.py").write_text("MAPPING = {'a': '/a/b'}")
    (packages / "pkg_finder.py").write_text("MAPPING = {'a': '/a/b'}")
    (packages / "__editable___bad_finder.py").write_bytes(b"\xff")
    assert search_path(None, (packages,)) == ((packages, source) if found else (packages,))


def test_the_versions_of_what_is_installed(tmp_path: Path) -> None:
    first, second = folder(tmp_path, "first"), folder(tmp_path, "second")
    for name in ("Some_Thing-1.0.dist-info", "old.one-2.dist-info", "egg-3-py3.12.egg-info", "no_info-4"):
        folder(first, name)
    folder(second, "some.thing-9.dist-info")
    found = {"some-thing": "1.0", "old-one": "2"}
    assert {name: found[name] for name in found} == {
        name: version for name, version in versions((first, second)).items() if name in found
    }
    assert "no-info" not in versions((first, second))
    assert versions((tmp_path / "missing",)) == {}


def test_the_entry_points_of_what_is_installed(tmp_path: Path) -> None:
    text = "[ some.group ]\nb = pkg.b:run\n# c = no:no\n; d = no:no\na=pkg.a\nneither\n[other]\ne = pkg.e\n"
    (folder(tmp_path, "pkg-1.dist-info") / "entry_points.txt").write_text(text)
    (folder(tmp_path, "coldfork-1.dist-info") / "entry_points.txt").write_text(text)
    (folder(tmp_path, "plain") / "entry_points.txt").write_text(text)
    folder(tmp_path, "bare-1.dist-info")
    found = Distributions((tmp_path,))
    assert found.entry_points("some.group") == (("b", "pkg.b:run"), ("a", "pkg.a"))
    assert found.entry_points("other") == (("e", "pkg.e"),)
    assert found.entry_points("none") == ()
