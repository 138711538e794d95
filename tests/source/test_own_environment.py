"""Whether what coldfork runs in is the checked code's environment too: by what the code imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.source.files.site_packages import serves

OURS = """\
Requires-Dist: rich>=13
Requires-Dist: Inner.Dep (>=2) ; python_version > '3'
Requires-Dist: torch; extra == 'ray'
"""
#: What coldfork brings along: its distribution, one dependency with two modules, and what that depends on.
BROUGHT = {
    "coldfork": (
        OURS,
        "coldfork/__init__.py,,\n../../../bin/coldfork,,\n",
    ),
    "rich": ("Requires-Dist: pygments\n", "rich/__init__.py,sha256=x,1\nrich-13.dist-info/RECORD,,\n"),
    "inner_dep": ("", "inner.py,,\n_inner.cpython-311-x86_64-linux-gnu.so,,\n"),
    "pygments": ("", "pygments/__init__.py,,\n"),
    "pip": ("Requires-Dist: torch\n", "pip/__init__.py,,\n"),
}


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment that was made for coldfork alone."""
    folder = tmp_path / "site-packages"
    for name, (requires, record) in BROUGHT.items():
        place = folder / f"{name}-13.dist-info"
        place.mkdir(parents=True)
        (place / "METADATA").write_text(f"Name: {name}\n{requires}\nThe description\n")
        (place / "RECORD").write_text(record)
        for line in record.splitlines():
            if not line.startswith(".."):
                install(folder, line.partition(",")[0])
    return folder


def install(folder: Path, *files: str) -> None:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def code(tmp_path: Path, text: str, name: str = "pkg/a.py") -> Path:
    """The folder of a package with one module."""
    file = tmp_path / "code" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    (file.parent / "__init__.py").touch()
    file.write_text(text)
    return file.parent


@pytest.mark.parametrize(
    ("text", "installed", "read"),
    [
        ("import torch\n", (), False),
        ("import torch\nimport rich\nfrom inner import x\nimport pygments.lexers\n", (), False),
        ("import torch\nimport rich\n", ("torch/__init__.py",), True),
        ("import torch.cuda\nfrom numpy.linalg import x\n", ("torch.py",), True),
        ("import torch, numpy, jax\n", ("torch.py",), False),
        ("import torch, numpy, jax\n", ("torch.py", "jax.cpython-311-x86_64-linux-gnu.so"), True),
        ("import torch as t\n", ("torchvision/__init__.py",), False),
        ("import rich\n", (), True),
        ("import os, sys\nfrom . import b\nfrom .torch import c\n", ("torch.py",), False),
        ("X = 1\n", ("torch.py",), False),
        ("def f():\n    import torch\n", ("torch.py",), True),
        (
            "import torch\ntry:\n    import numpy\nexcept ImportError:\n    import jax\n",
            ("numpy.py", "jax.py"),
            False,
        ),
        ("from the beginning on\nimportant = 1\nimport torch\n", ("the.py", "important.py"), False),
    ],
)
def test_it_is_read_where_it_holds_half_of_what_is_imported(
    text: str, installed: tuple[str, ...], read: bool, environment: Path, tmp_path: Path
) -> None:
    install(environment, *installed)
    assert serves([environment], [code(tmp_path, text)]) is read


def test_the_codes_own_modules_are_not_asked_for(environment: Path, tmp_path: Path) -> None:
    package = code(tmp_path, "import pkg.b, helper, torch\n")
    (package.parent / "helper.py").touch()
    install(environment, "pkg/__init__.py", "helper.py")
    assert not serves([environment], [package])
    assert not serves([environment], [package / "a.py"])
    assert not serves([environment], [package.parent])
    (package / "torch.py").touch()
    assert not serves([environment], [package]), "a module of the package hides no library"


def test_a_src_layout(environment: Path, tmp_path: Path) -> None:
    code(tmp_path, "import pkg.b, torch\n", "src/pkg/a.py")
    install(environment, "pkg/__init__.py")
    assert not serves([environment], [tmp_path / "code"])


def test_what_tests_import_says_nothing(environment: Path, tmp_path: Path) -> None:
    install(environment, "pytest.py", "hypothesis.py")
    package = code(tmp_path, "import torch\n")
    code(tmp_path, "import pytest, hypothesis\n", "pkg/tests/test_a.py")
    assert not serves([environment], [package])
    install(environment, "torch.py")
    assert serves([environment], [code(tmp_path / "tests", "import torch\n")]), "a project in such a folder"


def test_one_of_several_folders_and_files_that_cannot_be_read(environment: Path, tmp_path: Path) -> None:
    package = code(tmp_path, "import torch\n")
    (package / "b.py").symlink_to("nowhere")
    other = tmp_path / "other"
    install(other, "torch.py")
    assert serves([environment, other], [package])
    assert not serves([tmp_path / "missing"], [package])
    assert not serves([], [package])


def test_an_environment_without_records_is_judged_by_all_imports(environment: Path, tmp_path: Path) -> None:
    for record in environment.glob("*/RECORD"):
        record.unlink()
    assert serves([environment], [code(tmp_path, "import rich, torch\n")])


def test_the_beginning_of_a_large_tree_tells_enough(environment: Path, tmp_path: Path) -> None:
    install(environment, "numpy.py")
    package = code(tmp_path, "import numpy\n")
    for number in range(250):
        (package / f"m{number:03}.py").write_text(f"import other{number}\n" if number >= 199 else "")
    assert serves([environment], [package])
