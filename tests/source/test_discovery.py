"""Which files are checked under which names, and where the modules that they import are found."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from coldfork.source.files.discovery import discover
from coldfork.source.files.finder import Finder


def lay(folder: Path, *names: str) -> Path:
    """A folder with empty files of these names."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    return folder


def relative(paths: Iterable[str], folder: Path) -> list[str]:
    """Paths as seen from a folder."""
    return [os.path.relpath(path, folder).replace(os.sep, "/") for path in paths]


#: The files of a folder, the paths that are given, the names of the modules, and the folders of top packages.
LAYOUTS = {
    "a package": (["p/__init__.py", "p/a.py"], ["p"], ["p", "p.a"], ["."]),
    "a package inside a package": (
        ["p/__init__.py", "p/q/__init__.py", "p/q/a.py", "p/b.py"],
        ["p/q"],
        ["p.q", "p.q.a"],
        ["."],
    ),
    "a folder that holds a package": (["p/__init__.py", "p/a.py"], ["."], ["p", "p.a"], ["."]),
    "packages in several folders": (
        ["one/p/__init__.py", "two/deeper/q/__init__.py", "r/__init__.py"],
        ["."],
        ["p", "r", "q"],
        ["one", ".", "two/deeper"],
    ),
    "a source folder": (["src/p/__init__.py", "setup.py"], ["."], ["setup", "p"], ["src", "."]),
    "a namespace in a source folder": (["src/ns/p/a.py", "src/b.py"], ["."], ["b", "ns.p.a"], ["src", "."]),
    "a namespace in a library folder": (["lib/ns/a.py"], ["."], ["ns.a"], ["lib", "."]),
    "a namespace in a folder for Python": (["python/ns/a.py"], ["."], ["ns.a"], ["python", "."]),
    "no namespace in any other folder": (["tools/ns/a.py"], ["."], ["tools/ns/a"], ["."]),
    "a folder in a package": (["p/__init__.py", "p/bare/a.py"], ["."], ["p", "p.bare.a"], ["."]),
    "folders that hold no sources": (
        ["build/a.py", "p/__init__.py", "p/__pycache__/b.py", "p/dist/c.py", ".tox/d.py", "x.egg-info/e.py"],
        ["."],
        ["p"],
        ["."],
    ),
    "a package that is called build": (
        ["build/__init__.py", "build/a.py"],
        ["."],
        ["build", "build.a"],
        ["."],
    ),
    "a folder that is given": (["a.py"], ["."], ["a"], ["."]),
    "a file that is given": (["a.py", "b.py"], ["a.py"], ["a"], ["."]),
    "a member that is given": (["p/__init__.py", "p/a.py", "p/b.py"], ["p/a.py"], ["p.a"], ["."]),
    "the package's own file that is given": (["p/__init__.py", "p/a.py"], ["p/__init__.py"], ["p"], ["."]),
    "a name that is no identifier": (["p/__init__.py", "p/not-one.py"], ["."], None, ["."]),
    "a folder in a package whose name is no identifier": (
        ["p/__init__.py", "p/not-one/a.py"],
        ["."],
        ["p"],
        ["."],
    ),
    "a package whose name is no identifier": (["not-one/__init__.py", "not-one/a.py"], ["."], None, ["."]),
    "what is no module": (["p/__init__.py", "p/a.txt", "p/b.pyc", "README.py.md"], ["."], ["p"], ["."]),
    "twice the same": (["p/__init__.py", "p/a.py"], ["p", "p/a.py", "."], ["p", "p.a"], ["."]),
}


@pytest.mark.parametrize(
    ("files", "given", "names", "roots"), LAYOUTS.values(), ids=[name.replace(" ", "-") for name in LAYOUTS]
)
def test_what_is_found(
    files: list[str], given: list[str], names: list[str] | None, roots: list[str], tmp_path: Path
) -> None:
    lay(tmp_path, *files)
    found = discover([tmp_path / path for path in given])
    if names is not None:
        assert list(found.files) == names
    assert relative(found.roots, tmp_path) == roots
    assert found.broken == ()


def test_plain_files_of_the_same_name_are_both_checked(tmp_path: Path) -> None:
    lay(tmp_path, "one/a.py", "two/a.py", "not-one.py")
    found = discover([tmp_path])
    assert relative(found.files.values(), tmp_path) == ["not-one.py", "one/a.py", "two/a.py"]
    assert found.display == {"not-one.py": "not-one.py", "one/a": "one/a.py", "two/a": "two/a.py"}
    assert found.beside()["one/a"] == {"a": "one/a"}


def test_what_is_excluded_is_not_entered(tmp_path: Path) -> None:
    lay(tmp_path, "p/__init__.py", "p/a.py", "p/q/b.py", "c.py")
    found = discover([tmp_path], lambda path: path.endswith(("q", "a.py")))
    assert list(found.files) == ["c", "p"]


def test_a_link_to_a_folder_is_followed_once(tmp_path: Path) -> None:
    lay(tmp_path, "p/__init__.py", "p/a.py")
    (tmp_path / "p" / "again").symlink_to(tmp_path / "p")
    (tmp_path / "q").symlink_to(tmp_path / "p")
    (tmp_path / "p" / "gone.py").symlink_to(tmp_path / "nowhere")
    found = discover([tmp_path])
    assert list(found.files) == ["p", "p.a"]
    assert found.broken == ((f"{tmp_path}/p/gone.py", "a broken link"),)


#: The files of a checked folder and of one beside it, the module, where it is, whether it is checked.
WHERE = {
    "a module": (["tree/a.py"], "a", "tree/a.py", True),
    "a dependency": (["beside/a.py"], "a", "beside/a.py", False),
    "the checked one of two": (["tree/a.py", "beside/a.py"], "a", "tree/a.py", True),
    "a package before a module": (["tree/a.py", "tree/a/__init__.py"], "a", "tree/a/__init__.py", True),
    "a module before a folder": (["tree/a.py", "tree/a/b.py"], "a", "tree/a.py", True),
    "a submodule": (["beside/p/__init__.py", "beside/p/a.py"], "p.a", "beside/p/a.py", False),
    "the standard library": (["beside/json.py"], "json", None, False),
    "the backport of typing": (["beside/typing_extensions.py"], "typing_extensions", None, False),
    "a checked backport of typing": (
        ["tree/typing_extensions.py"],
        "typing_extensions",
        "tree/typing_extensions.py",
        True,
    ),
    "a module that covers the standard library": (["tree/json.py"], "json", "tree/json.py", True),
    "a folder that is called as a standard module": (["tree/json/a.py"], "json", None, False),
    "a real package behind a bare folder": (
        ["tree/p/a.py", "beside/p/__init__.py"],
        "p",
        "beside/p/__init__.py",
        False,
    ),
    "a part of a namespace": (["tree/ns/a.py", "beside/ns/b.py"], "ns.a", "tree/ns/a.py", True),
    "nowhere": (["tree/a.py"], "b", None, False),
    "below what is no package": (["tree/a.py"], "a.b", None, False),
}


@pytest.mark.parametrize(
    ("files", "module", "path", "own"), WHERE.values(), ids=[name.replace(" ", "-") for name in WHERE]
)
def test_where_a_module_is(
    files: list[str], module: str, path: str | None, own: bool, tmp_path: Path
) -> None:
    lay(tmp_path, *files)
    located = Finder([f"{tmp_path}/tree"], [f"{tmp_path}/beside"]).find(module)
    if path is None:
        assert located is None
        return
    assert located is not None
    assert located.path is not None
    assert relative([located.path], tmp_path) == [path]
    assert located.own is own
    assert located.is_package is path.endswith("__init__.py")
    assert not located.compiled


@pytest.mark.parametrize("suffix", [".so", ".cpython-311-x86_64-linux-gnu.so", ".pyd", ".dylib"])
def test_a_compiled_module_has_no_source(suffix: str, tmp_path: Path) -> None:
    lay(tmp_path, f"tree/p/_C{suffix}", f"tree/q/__init__{suffix}", "tree/p/__init__.py")
    finder = Finder([f"{tmp_path}/tree"], [])
    for name, is_package in (("p._C", False), ("q", True)):
        located = finder.find(name)
        assert located is not None
        assert located.compiled
        assert located.path is None
        assert located.is_package is is_package


def test_parts_of_a_namespace_are_found_in_both_folders(tmp_path: Path) -> None:
    lay(tmp_path, "tree/ns/a.py", "beside/ns/b.py")
    finder = Finder([f"{tmp_path}/tree"], [f"{tmp_path}/beside"])
    located = finder.find("ns.b")
    assert located is not None
    assert located.path == f"{tmp_path}/beside/ns/b.py"
    assert not located.own


def test_an_environment_inside_the_checked_folder_is_not_checked(tmp_path: Path) -> None:
    lay(tmp_path, "venv/lib/p/__init__.py", "own/__init__.py")
    finder = Finder([f"{tmp_path}"], [f"{tmp_path}/venv/lib"])
    located, own = finder.find("p"), finder.find("own")
    assert located is not None
    assert own is not None
    assert not located.own
    assert own.own
