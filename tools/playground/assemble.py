"""Put what the playground serves beside its page: Python, the editor, and coldfork itself.

What others have written comes through npm, in the versions of `package-lock.json`, into .venv/playground.
Without Node or npm the page is left as it is, and says that it was built without.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "playground"
BUILT = PAGE / "built"
PARTS = ROOT / ".venv" / "playground"
"""The packages of npm, and what they were installed from."""
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PACKAGES = ("click", "packaging", "pathspec", "rich")
"""What `coldfork check` imports, as it is installed here. All of it is pure Python."""
_STAMP = "made-from"


class CannotAssemble(Exception):
    """What is missing, in words."""


def assemble() -> None:
    """Make docs/playground/built, unless it is there and nothing that it is made from has changed."""
    if is_assembled():
        return
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise CannotAssemble(f"there is no {tool} here")
    _install()
    print("assembling the playground", file=sys.stderr)
    beside = BUILT.with_name(f"built-{os.getpid()}")
    beside.mkdir()
    try:
        _fill(beside)
        (beside / _STAMP).write_text(digest())
        shutil.rmtree(BUILT, ignore_errors=True)
        beside.rename(BUILT)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def is_assembled() -> bool:
    """Whether docs/playground/built holds what would be assembled now."""
    stamp = BUILT / _STAMP
    return stamp.is_file() and stamp.read_text() == digest()


def leave_out() -> None:
    """Remove what was assembled from something else, so that nobody takes it for today's."""
    shutil.rmtree(BUILT, ignore_errors=True)


def examples() -> list[dict[str, object]]:
    """The examples, each with its files by path."""
    folder = PAGE / "examples"
    listed: list[dict[str, object]] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    for example in listed:
        below = folder / str(example["folder"])
        example["files"] = {
            file.relative_to(below).as_posix(): file.read_text(encoding="utf-8") for file in _files(below)
        }
    return listed


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder, without those that a run leaves behind."""
    for file in sorted(folder.rglob("*")):
        left = "__pycache__" in file.parts or file.suffix == ".so"
        if file.is_file() and not left:
            yield file


def digest() -> str:
    """All that the assembled files are made from, in short."""
    texts = [*_files(ROOT / "src" / "coldfork"), *_files(PAGE / "examples"), *_files(HERE)]
    texts.append(PAGE / "editor.js")
    content = hashlib.sha256()
    for file in texts:
        content.update(f"{file.relative_to(ROOT)}\n".encode())
        content.update(file.read_bytes())
    content.update(repr([importlib.metadata.version(name) for name in PACKAGES]).encode())
    return content.hexdigest()


def _install() -> None:
    """Have npm install the packages, unless these are the ones that are there."""
    locked = (HERE / "package-lock.json").read_bytes()
    stamp = PARTS / _STAMP
    if stamp.is_file() and stamp.read_bytes() == locked:
        return
    print("setting up .venv/playground (once)", file=sys.stderr)
    PARTS.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, PARTS / name)
    _run(["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"], PARTS)
    stamp.write_bytes(locked)


def _fill(folder: Path) -> None:
    pyodide = PARTS / "node_modules" / "pyodide"
    (folder / "pyodide").mkdir()
    for name in PYODIDE:
        shutil.copy(pyodide / name, folder / "pyodide" / name)
    given = examples()
    (folder / "examples.json").write_text(json.dumps(given, ensure_ascii=False), encoding="utf-8")
    _bundle_editor(folder / "editor.js")
    _pack_python(folder, pyodide)
    (folder / "licences.txt").write_text(_licences(), encoding="utf-8")


def _bundle_editor(target: Path) -> None:
    command = [str(PARTS / "node_modules" / ".bin" / "esbuild"), str(PAGE / "editor.js")]
    flags = ["--bundle", "--minify", "--format=esm", "--log-level=error", f"--outfile={target}"]
    _run([*command, *flags], PAGE, NODE_PATH=str(PARTS / "node_modules"))


def _pack_python(folder: Path, pyodide: Path) -> None:
    """Write engine.zip, coldfork and what it imports, and have all that a check needs compiled beforehand."""
    scratch = folder / "scratch"
    modules = scratch / "modules"
    for name, source in _sources():
        (modules / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, modules / name)
    shutil.copyfile(folder / "examples.json", scratch / "examples.json")
    shutil.copyfile(HERE / "compile.py", scratch / "compile.py")
    start = [str(ROOT / "tools" / "newer_pythons" / "start.mjs"), str(pyodide), "--mount", str(scratch)]
    _run(["node", *start, str(scratch / "compile.py"), str(scratch)], ROOT)
    _pack(modules, folder / "engine.zip")
    _pack_library(scratch / "library", folder / "pyodide" / "python_stdlib.zip")
    shutil.rmtree(scratch)


def _pack_library(compiled: Path, archive: Path) -> None:
    """Put what was compiled of the standard library into its archive, in place of the source."""
    with zipfile.ZipFile(archive) as given:
        given.extractall(compiled.with_name("sources"))
    sources = compiled.with_name("sources")
    for file in _files(compiled):
        name = file.relative_to(compiled)
        shutil.copyfile(file, sources / name)
        (sources / name).with_suffix(".py").unlink()
    _pack(sources, archive)


def _pack(folder: Path, target: Path) -> None:
    """Write an archive: the same bytes for the same content, whenever it is written."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            member = zipfile.ZipInfo(file.relative_to(folder).as_posix(), (2026, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, file.read_bytes())


def _sources() -> Iterator[tuple[str, Path]]:
    """Every file that the engine needs, by the name that it is imported by."""
    yield "playground_engine.py", HERE / "playground_engine.py"
    package = ROOT / "src" / "coldfork"
    for file in _files(package):
        yield f"coldfork/{file.relative_to(package).as_posix()}", file
    for name in PACKAGES:
        for listed in importlib.metadata.files(name) or ():
            # The metadata as well: some packages ask for their own version.
            if listed.parts[0] != ".." and listed.suffix != ".pyc":
                yield listed.as_posix(), Path(str(listed.locate()))


def _licences() -> str:
    folders = sorted((PARTS / "node_modules").glob("*/package.json"))
    folders += sorted((PARTS / "node_modules").glob("@*/*/package.json"))
    parts = []
    for file in folders:
        about = json.loads(file.read_text(encoding="utf-8"))
        texts = sorted(file.parent.glob("LICENSE*"))
        parts.append(_licence(about["name"], about["version"], about.get("license", ""), texts))
    for name in PACKAGES:
        known = importlib.metadata.distribution(name)
        kept = [Path(str(one.locate())) for one in known.files or () if "LICENSE" in one.name]
        kind = known.metadata.json.get("license_expression") or known.metadata.json.get("license") or ""
        parts.append(_licence(name, known.version, str(kind), kept))
    return "\n".join(parts)


def _licence(name: str, version: str, kind: str, texts: Iterable[Path]) -> str:
    return "\n".join([f"{name} {version}: {kind}", *(text.read_text(encoding="utf-8") for text in texts), ""])


def _run(command: list[str], folder: Path, **variables: str) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        raise CannotAssemble(f"{Path(command[0]).name} failed: {' '.join(said[-3:])}")


if __name__ == "__main__":
    try:
        assemble()
    except CannotAssemble as problem:
        leave_out()
        print(f"left out: the playground: {problem}", file=sys.stderr)
