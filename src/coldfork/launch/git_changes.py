"""List, with git, the files that differ from a revision: committed since, uncommitted, new or removed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from coldfork.model.errors import UsageError

_SUBMODULE = "160000"
_NOT_THERE = "0" * 40
_DIFFERENCE = (
    "diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-relative",
    "--ignore-submodules=none",
)  # fmt: skip
_OF_ANOTHER_CHECKOUT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
"""Variables that git sets for its hooks, and that name the hook's own checkout; here checkouts are found from
paths.
"""


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences from a revision, in every checkout that one of the paths is in."""

    files: tuple[str, ...]
    """Absolute paths, with links in their folders resolved."""
    bases: tuple[tuple[str, str], ...]
    """The folder of each checkout, and the commit that it was compared with."""

    def content_before(self, file: str) -> bytes | None:
        """Return a file's content in the commit that it is compared with; None if the file is not in it."""
        for top, base in self.bases:
            if file.startswith(f"{top}{os.sep}"):
                done = _git(top, "show", f"{base}:{Path(file).relative_to(top).as_posix()}")
                return done.stdout if done.returncode == 0 else None
        return None


def changes_since(revision: str, paths: Sequence[Path]) -> Changes:
    """Return all changes since a revision in the checkouts of these paths, counted from the merge base."""
    tops = dict.fromkeys(_checkout_of(path) for path in paths)
    bases = tuple((top, _base(top, revision)) for top in tops)
    files = dict.fromkeys(file for top, base in bases for file in _differing(top, base))
    return Changes(tuple(files), bases)


def _checkout_of(path: Path) -> str:
    """Return the top folder of the checkout that contains a path."""
    folder = path if path.is_dir() else path.parent
    done = _git(folder, "rev-parse", "--show-toplevel")
    if done.returncode:
        said = _said(done)
        why = "" if "not a git repository" in said else f": {said}"
        raise UsageError(f"--changed-since: {path} is not in a git checkout{why}")
    return os.path.realpath(os.fsdecode(done.stdout).removesuffix("\n"))


def _base(top: str, revision: str) -> str:
    """Return the commit to compare with: the merge base of HEAD and the revision."""
    known = _commit(top, revision)
    if known is None:
        raise UsageError(f"--changed-since: {_unknown(top, revision)}")
    head = _commit(top, "HEAD")
    if head is None:
        return known
    done = _git(top, "merge-base", known, head)
    if done.returncode == 0:
        return os.fsdecode(done.stdout).strip()
    raise UsageError(
        f"--changed-since: {revision} and HEAD have no common ancestor in {top}"
        + (f", which is a shallow clone; {_DEEPEN}" if _is_shallow(top) else "")
    )


_DEEPEN = "fetch its history first: git fetch --unshallow (actions/checkout: fetch-depth: 0)"


def _unknown(top: str, revision: str) -> str:
    """Return a message that says why the revision cannot be used, and how to make it usable."""
    if _is_shallow(top):
        return f"{top} is a shallow clone that does not hold {revision}; {_DEEPEN}"
    remote = f"origin/{revision}"
    hint = f"; did you mean {remote}?" if _commit(top, remote) else ""
    return f"git knows no commit {revision!r} in {top}{hint}"


def _commit(top: str, revision: str) -> str | None:
    """Return the commit that a name stands for; None if there is none."""
    done = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return os.fsdecode(done.stdout).strip() if done.returncode == 0 else None


def _is_shallow(top: str) -> bool:
    return _git(top, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


def _differing(top: str, base: str) -> Iterator[str]:
    """Yield every file in a checkout, including its submodules, that differs from a commit."""
    parts = iter(_listed(top, *_DIFFERENCE, base, "--"))
    for modes, path in zip(parts, parts, strict=True):
        old_mode, new_mode, old, *_ = modes.removeprefix(":").split(" ")
        file = f"{top}/{path}"
        if _SUBMODULE not in (old_mode, new_mode):
            yield file
        elif not Path(file, ".git").exists():
            yield file  # removed, or a submodule that was never fetched: nothing to list
        elif old == _NOT_THERE or _commit(file, old) is None:
            yield from _files_below(file)
        else:
            yield from _differing(file, old)
    for path in _listed(top, "ls-files", "-z", "--others", "--exclude-standard"):
        file = f"{top}/{path}"
        yield from _files_below(file.removesuffix("/")) if path.endswith("/") else (file,)


def _files_below(folder: str) -> Iterator[str]:
    """Yield every file in a folder that git lists as a single entry, such as a new folder."""
    for here, _, names in os.walk(folder):
        yield from (f"{here}/{name}" for name in names)


def _listed(top: str, *arguments: str) -> list[str]:
    """Return the NUL-separated output of a git command."""
    done = _git(top, *arguments)
    if done.returncode:
        raise UsageError(f"--changed-since: git {arguments[0]} failed in {top}: {_said(done)}")
    return [os.fsdecode(part) for part in done.stdout.split(b"\0") if part]


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the last line of git's error message."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("fatal: ") if lines else f"status {done.returncode}"


def _git(folder: str | Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_CHECKOUT}
    # Without optional locks git does not rewrite the index, which another process may be writing. English
    # messages can be recognised.
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("--changed-since needs git, and there is no git on PATH") from None
