"""The requirements of a project are read from its own files, whatever the tool that wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.source.files.requirements import required, requirements

PROJECTS = {
    "pyproject": ({"pyproject.toml": "[project]\ndependencies = ['acme == 4.5', 'other']"}, ("==4.5",)),
    "an extra": (
        {"pyproject.toml": "[project.optional-dependencies]\ngpu = ['acme[cu13]>=4,<5']"},
        (">=4,<5",),
    ),
    "a group": (
        {"pyproject.toml": "[dependency-groups]\ndev = ['acme~=4.5', {include-group = 'x'}]"},
        ("~=4.5",),
    ),
    "poetry": ({"pyproject.toml": "[tool.poetry.dependencies]\nacme = '^4.5'"}, (">=4.5,<5",)),
    "poetry's zero": ({"pyproject.toml": "[tool.poetry.dependencies]\nacme = '^0.4.5'"}, (">=0.4.5,<0.5",)),
    "poetry's tilde": ({"pyproject.toml": "[tool.poetry.dependencies]\nacme = '~4.5.1'"}, (">=4.5.1,<4.6",)),
    "poetry's exact": (
        {"pyproject.toml": "[tool.poetry.dependencies]\nacme = {version = '4.5'}"},
        ("==4.5",),
    ),
    "poetry's star": ({"pyproject.toml": "[tool.poetry.dependencies]\nacme = '*'"}, None),
    "poetry's group": ({"pyproject.toml": "[tool.poetry.group.x.dependencies]\nacme = '4.5'"}, ("==4.5",)),
    "setup.cfg": ({"setup.cfg": "[options]\ninstall_requires =\n  x\n  acme>=4"}, (">=4",)),
    "setup.cfg's extra": ({"setup.cfg": "[options.extras_require]\ngpu =\n  acme>=4"}, (">=4",)),
    "requirements": ({"requirements.txt": "-r more.txt\n# x\nAcme==4.5  # pinned\n"}, ("==4.5",)),
    "other requirements": ({"requirements-gpu.txt": "acme==4.5 ; python_version > '3'"}, ("==4.5",)),
    "two that differ": (
        {"requirements.txt": "acme==4.5", "requirements-dev.txt": "acme==4.6"},
        ("==4.6", "==4.5"),
    ),
    "any version, and an extra's": (
        {
            "pyproject.toml": "[project]\ndependencies = ['acme']\n"
            "[project.optional-dependencies]\nold = ['acme==4.5']"
        },
        None,
    ),
    "a version, and an extra's": (
        {
            "pyproject.toml": "[project]\ndependencies = ['acme>=4', 'acme']\n"
            "[project.optional-dependencies]\nold = ['acme==4.5']"
        },
        (">=4", "==4.5"),
    ),
    "a wheel for any version, and an extra's": (
        {"p-1.dist-info/METADATA": "Name: p\nRequires-Dist: acme\nRequires-Dist: acme==4.5; extra == 'x'\n"},
        None,
    ),
    "no version": ({"requirements.txt": "acme"}, None),
    "an address": ({"requirements.txt": "acme @ https://example.org/acme-4.5.zip"}, None),
    "a wheel": (
        {"p-1.dist-info/METADATA": "Name: p\nRequires-Dist: acme (==4.5) ; extra == 'x'\n"},
        ("==4.5",),
    ),
    "broken files": ({"pyproject.toml": "[project", "setup.cfg": "install_requires"}, None),
    "odd tables": ({"pyproject.toml": "tool = 1\nproject = {dependencies = 'acme==1'}"}, None),
}


def _write(files: dict[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(("files", "expected"), PROJECTS.values(), ids=PROJECTS)
@pytest.mark.parametrize("asked", [".", "src/p", "src/p/m.py"])
def test_the_files_of_a_project_tell_its_requirements(
    files: dict[str, str], expected: tuple[str, ...] | None, asked: str, tmp_path: Path
) -> None:
    if "p-1.dist-info/METADATA" in files:
        files = {f"src/{name}": text for name, text in files.items()}
        asked = "src" if asked == "." else asked
    _write({**files, "src/p/__init__.py": "", "src/p/m.py": ""}, tmp_path)
    if not any(name.startswith(("pyproject", "setup", "src/")) for name in files) and asked != ".":
        (tmp_path / "setup.py").touch()
    assert requirements([tmp_path / asked]).get("acme") == expected


def test_of_several_wheels_the_one_that_lists_the_package_speaks(tmp_path: Path) -> None:
    for name, version in (("p", "4.5"), ("q", "4.7")):
        metadata = {
            "METADATA": f"Requires-Dist: acme=={version}\n",
            "RECORD": f"{name}/__init__.py,sha256=x,0\n",
        }
        _write({f"{name}-1.dist-info/{file}": text for file, text in metadata.items()}, tmp_path)
        _write({f"{name}/__init__.py": ""}, tmp_path)
    assert requirements([tmp_path / "q"]) == {"acme": ("==4.7",)}
    assert requirements([tmp_path / "p"]) == {"acme": ("==4.5",)}


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("pyproject.toml", "[project]\ndependencies = ['acme', 'x>=1']", True),
        ("pyproject.toml", "[project]\ndependencies = ['acme ; python_version < \"3\"']", False),
        ("pyproject.toml", "[project]\ndependencies = ['acme ; python_version > \"3\"']", True),
        ("pyproject.toml", "[project]\ndependencies = ['acme ; no marker']", True),
        ("pyproject.toml", "[project.optional-dependencies]\ngpu = ['acme']", False),
        ("pyproject.toml", "[dependency-groups]\ndev = ['acme']", False),
        ("pyproject.toml", "[tool.poetry.dependencies]\nacme = '^4'", True),
        ("pyproject.toml", "[tool.poetry.dependencies]\nacme = {version = '^4', optional = true}", False),
        ("setup.cfg", "[options]\ninstall_requires =\n  acme>=4", True),
        ("setup.cfg", "[options.extras_require]\ngpu =\n  acme>=4", False),
        ("requirements-dev.txt", "acme", False),
        ("PKG-INFO", "Name: p\nRequires-Dist: acme>=1\n\nRequires-Dist: other\n", True),
        ("PKG-INFO", "Name: p\n\nRequires-Dist: acme\n", False),
        ("p-1.dist-info/METADATA", "Requires-Dist: acme>=1\n", True),
        ("p-1.dist-info/METADATA", "Requires-Dist: acme>=1; extra == 'gpu'\n", False),
    ],
)
def test_what_a_project_cannot_do_without(file: str, text: str, expected: bool, tmp_path: Path) -> None:
    _write({file: text, "p/__init__.py": ""}, tmp_path)
    assert ("acme" in required([str(tmp_path)], ["p"])) is expected


def test_of_many_wheels_the_one_that_lists_a_package_speaks_for_it(tmp_path: Path) -> None:
    for name in ("one", "two"):
        metadata = f"{name}-1.dist-info"
        texts = {
            f"{metadata}/METADATA": f"Requires-Dist: of-{name}\n",
            f"{metadata}/RECORD": f"{name}/a.py,,\n",
        }
        _write({**texts, f"{name}/__init__.py": ""}, tmp_path)
    assert required([str(tmp_path)], ["two"]) == {"of-two"}
    assert required([str(tmp_path)], ["one", "two"]) == {"of-one", "of-two"}
