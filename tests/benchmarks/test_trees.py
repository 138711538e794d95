"""Trees to measure: mounts, fresh copies, growing parts, and the stand-in for an unreleased version."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest

from benchmarks import fake_torch, mount, trees
from published import places
from published.errors import UnavailableError
from published.sources import Wanted

pytestmark = pytest.mark.once


def lay_out(root: Path, files: dict[str, str], filename: str = "x.whl") -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / places.MARKER).write_text(f'{{"file": "{filename}"}}')


def test_versions_are_mounted_side_by_side(tmp_path: Path) -> None:
    store = tmp_path / "sources"
    lay_out(store / "torch-2.8.0", {"torch/__init__.py": "", "torchgen/x.py": ""})
    lay_out(
        store / "plain-1.0",
        {"src/plain/__init__.py": "", "tests/__init__.py": "", "setup.py": "", "notes/a.py": ""},
        "plain-1.0.tar.gz",
    )
    folder = mount.build(tmp_path / "site", [Wanted("torch", "2.8.0"), Wanted("plain", "1.0")], store)
    assert sorted(path.name for path in folder.iterdir()) == [
        "plain", "plain-1.0.dist-info", "torch", "torch-2.8.0.dist-info", "torchgen",
    ]  # fmt: skip
    assert (folder / "plain").resolve() == (store / "plain-1.0/src/plain").resolve()
    assert "Version: 2.8.0" in (folder / "torch-2.8.0.dist-info/METADATA").read_text()


def test_a_package_behind_a_path_file_gets_its_path_file(tmp_path: Path) -> None:
    inner = "nvidia_cutlass_dsl/python_packages"
    lay_out(tmp_path / "sources/c-1.0", {f"{inner}/cutlass/__init__.py": ""})
    folder = mount.build(tmp_path / "site", [Wanted("c", "1.0")], tmp_path / "sources")
    assert (folder / "nvidia_cutlass_dsl.pth").read_text() == inner + "\n"


def test_namespace_packages_are_merged(tmp_path: Path) -> None:
    store = tmp_path / "sources"
    lay_out(store / "a-1.0", {"cuda/bindings/__init__.py": "", "cuda/shared/one.py": ""})
    lay_out(store / "b-1.0", {"cuda/core/__init__.py": "", "cuda/shared/two.py": ""})
    folder = mount.build(tmp_path / "site", [Wanted("a", "1.0"), Wanted("b", "1.0")], store)
    found = {path.relative_to(folder).as_posix() for path in (folder / "cuda").rglob("*.py")}
    below = {f"cuda/{name}/__init__.py" for name in ("bindings", "core") if (folder / "cuda" / name).is_dir()}
    assert below == {"cuda/bindings/__init__.py", "cuda/core/__init__.py"}
    assert {"cuda/shared/one.py", "cuda/shared/two.py"} <= found
    assert list((store / "a-1.0/cuda").iterdir()) != []
    assert not (store / "a-1.0/cuda/core").exists()


def test_two_packages_with_one_file_are_refused(tmp_path: Path) -> None:
    store = tmp_path / "sources"
    lay_out(store / "a-1.0", {"one.py": "a"})
    lay_out(store / "b-1.0", {"one.py": "b"})
    with pytest.raises(UnavailableError, match=r"two packages bring one\.py"):
        mount.build(tmp_path / "site", [Wanted("a", "1.0"), Wanted("b", "1.0")], store)


def test_what_is_not_here_is_said_with_the_command_that_brings_it(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"fetch it with \./dev bench sources torch==2\.8\.0"):
        mount.build(tmp_path / "site", [Wanted("torch", "2.8.0")], tmp_path)


def test_a_copy_knows_only_its_new_name(tmp_path: Path) -> None:
    package = tmp_path / "engine"
    lay_out(
        package,
        {
            "__init__.py": "import engine.core\nfrom engine import core as c\n",
            "core/__init__.py": 'NAME = "engine.core"\nengine_size = 1\nre_engine = 2\n',
            "notes.txt": "engine",
        },
    )
    copied = trees.copy(package, tmp_path / "tree", "other", None)
    assert (copied.files, copied.package) == (2, tmp_path / "tree/other")
    assert (copied.package / "__init__.py").read_text() == "import other.core\nfrom other import core as c\n"
    core = (copied.package / "core/__init__.py").read_text()
    assert core == 'NAME = "other.core"\nengine_size = 1\nre_engine = 2\n'
    assert copied.bytes == sum(path.stat().st_size for path in copied.package.rglob("*.py"))
    assert not (copied.package / "notes.txt").exists()


def test_fresh_names_are_names_and_never_the_same() -> None:
    names = {trees.fresh_name() for _ in range(50)}
    assert len(names) == 50
    assert all(name.isidentifier() for name in names)


def test_an_edit_changes_one_file_and_leaves_it_valid(tmp_path: Path) -> None:
    lay_out(tmp_path / "engine", {f"m{number}.py": "x = 1\n" * number for number in range(1, 6)})
    copied = trees.copy(tmp_path / "engine", tmp_path / "tree", "other", None)
    before = {path: path.read_text() for path in copied.package.iterdir()}
    edited = trees.touch(copied)
    changed = [path for path, text in before.items() if path.read_text() != text]
    assert changed == [edited]
    ast.parse(edited.read_text())


def test_parts_grow_and_end_with_everything(tmp_path: Path) -> None:
    package = tmp_path / "engine"
    lay_out(package, {f"part{number}/m.py": "#" * 1000 * number for number in range(1, 9)})
    lay_out(package, {"__init__.py": ""})
    parts = trees.growing(package, (0.1, 0.3, 0.6, 1.0))
    assert all(smaller < larger for smaller, larger in itertools.pairwise(parts))
    assert "__init__.py" in parts[0]
    whole = trees.copy(package, tmp_path / "all", "other", None)
    assert trees.copy(package, tmp_path / "last", "other", None, parts[-1]).files == whole.files
    some = trees.copy(package, tmp_path / "some", "other", None, parts[1])
    assert 0.2 * whole.bytes < some.bytes < 0.4 * whole.bytes


def test_an_unknown_tree_is_refused_with_those_there_are() -> None:
    assert trees.named(["vllm-0.11.0"])[0].beside == ()
    with pytest.raises(UnavailableError, match=r"no tree is called 'vllm'; there are vllm-0\.11\.0, "):
        trees.named(["vllm"])


def test_the_stand_in_reexports_every_kernel_module(tmp_path: Path) -> None:
    base = tmp_path / "vllm-0.22.0"
    names = [*fake_torch.REEXPORTS, "__init__"]
    lay_out(base, {f"vllm/models/deepseek_v4/nvidia/ops/{name}.py": "" for name in names})
    package = fake_torch.build(base, tmp_path / "stand-in")
    tree = ast.parse((package.parent / fake_torch.INIT).read_text())
    imported = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert imported == set(fake_torch.REEXPORTS)
    assert (base / fake_torch.INIT).read_text() == ""


def test_the_stand_in_needs_the_right_version(tmp_path: Path) -> None:
    lay_out(tmp_path / "vllm-0.11.0", {"vllm/__init__.py": ""})
    with pytest.raises(UnavailableError, match=r"made from vLLM 0\.22\.0"):
        fake_torch.build(tmp_path / "vllm-0.11.0", tmp_path / "out")
