"""Changes reported by git, in real repositories: committed, not committed, new, removed, in submodules."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from coldfork.launch.git_changes import changes_since
from coldfork.model.errors import UsageError

pytestmark = [pytest.mark.once, pytest.mark.skipif(shutil.which("git") is None, reason="no git")]

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Run git in a folder, with no configuration but the one that a test gives."""
    for name, value in {
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "gitconfig").write_text('[init]\ndefaultBranch = main\n[protocol "file"]\nallow = always\n')

    def run(folder: Path, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def repository(tmp_path: Path, git: Git) -> Path:
    """A repository with `pkg/a.py` and `pkg/b.py`."""
    return committed(tmp_path / "repository", git, "pkg/a.py", "pkg/b.py")


def committed(folder: Path, git: Git, *files: str) -> Path:
    """A new repository whose first commit holds these files."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


def changed(folder: Path, revision: str = "HEAD", *paths: Path) -> set[str]:
    """Return the changed files below the folder."""
    top = os.path.realpath(folder)
    return {os.path.relpath(file, top) for file in changes_since(revision, paths or (folder,)).files}


def test_nothing_changed(repository: Path) -> None:
    assert changed(repository) == set()


def test_what_is_not_committed_new_staged_removed_or_renamed(repository: Path, git: Git) -> None:
    (repository / "pkg/a.py").write_text("A = 1\n")
    (repository / "new.py").touch()
    (repository / ".gitignore").write_text("made.py\n")
    (repository / "made.py").touch()
    assert changed(repository) == {"pkg/a.py", "new.py", ".gitignore"}
    git(repository, "add", ".")
    git(repository, "mv", "pkg/b.py", "pkg/c.py")
    assert changed(repository) == {"pkg/a.py", "new.py", ".gitignore", "pkg/b.py", "pkg/c.py"}
    git(repository, "commit", "--quiet", "-m", "second")
    assert changed(repository) == set()
    assert changed(repository, "HEAD~1") == {"pkg/a.py", "new.py", ".gitignore", "pkg/b.py", "pkg/c.py"}


def test_what_others_did_to_the_branch_meanwhile_is_not_ours(repository: Path, git: Git) -> None:
    git(repository, "checkout", "--quiet", "-b", "work")
    (repository / "ours.py").touch()
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "ours")
    git(repository, "checkout", "--quiet", "main")
    (repository / "theirs.py").touch()
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "theirs")
    git(repository, "checkout", "--quiet", "work")
    assert changed(repository, "main") == {"ours.py"}


def test_odd_names_and_settings_change_nothing(repository: Path, git: Git) -> None:
    git(repository, "config", "diff.noprefix", "true")
    git(repository, "config", "diff.renames", "copies")
    git(repository, "config", "diff.relative", "true")
    git(repository, "config", "diff.external", "false")
    odd = 'pkg/na\u00efve "two"\nlines.py'
    (repository / odd).touch()
    git(repository, "mv", "pkg/a.py", "pkg/c.py")
    assert changed(repository, "HEAD", repository / "pkg") == {odd, "pkg/a.py", "pkg/c.py"}


def test_the_checkout_of_a_hook_is_no_matter(
    repository: Path, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = committed(tmp_path / "other", git, "x.py")
    (repository / "new.py").touch()
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    assert changed(repository) == {"new.py"}


def test_a_file_as_a_path_and_several_checkouts(repository: Path, tmp_path: Path, git: Git) -> None:
    other = committed(tmp_path / "other", git, "x.py")
    (other / "x.py").write_text("X = 1\n")
    (repository / "pkg/a.py").write_text("A = 1\n")
    assert changed(tmp_path, "HEAD", repository / "pkg/b.py", other) == {"repository/pkg/a.py", "other/x.py"}


def test_a_checkout_that_lies_in_another_is_looked_into(repository: Path, git: Git) -> None:
    committed(repository / "nested", git, "deep/x.py")
    assert {"nested/deep/x.py"} <= changed(repository)


def test_submodules_are_looked_into(repository: Path, tmp_path: Path, git: Git) -> None:
    library = committed(tmp_path / "library", git, "lib/one.py", "lib/two.py")
    git(repository, "submodule", "--quiet", "add", str(library), "vendor/library")
    inside = repository / "vendor/library"
    assert {"vendor/library/lib/one.py", "vendor/library/lib/two.py"} <= changed(repository)
    git(repository, "commit", "--quiet", "-m", "with a submodule")
    assert changed(repository) == set()
    (inside / "lib/one.py").write_text("ONE = 1\n")
    assert changed(repository) == {"vendor/library/lib/one.py"}
    git(inside, "commit", "--quiet", "-am", "one")
    assert changed(repository) == {"vendor/library/lib/one.py"}
    assert changed(repository, "HEAD", inside) == set(), "a path in a submodule is about the submodule"
    (inside / "lib/three.py").touch()
    assert changed(repository) == {"vendor/library/lib/one.py", "vendor/library/lib/three.py"}
    git(repository, "submodule", "--quiet", "deinit", "--force", "vendor/library")
    git(repository, "rm", "--quiet", "--force", "vendor/library")
    assert changed(repository) == {".gitmodules", "vendor/library"}


def test_what_a_file_held_before(repository: Path) -> None:
    file = f"{os.path.realpath(repository)}/pkg/a.py"
    Path(file).write_text("A = 1\n")
    changes = changes_since("HEAD", (repository,))
    assert changes.content_before(file) == b"# pkg/a.py\n"
    assert changes.content_before(file.replace("a.py", "new.py")) is None
    assert changes.content_before("/elsewhere/a.py") is None


def test_a_folder_outside_any_checkout(tmp_path: Path, git: Git) -> None:
    with pytest.raises(UsageError, match=r"^--changed-since: .* is not in a git checkout$"):
        changes_since("HEAD", (tmp_path,))


@pytest.mark.parametrize("revision", ["nowhere", "-h", "--help", "HEAD:pkg", "HEAD..HEAD", ""])
def test_a_revision_that_is_none(revision: str, repository: Path) -> None:
    with pytest.raises(
        UsageError, match=rf"^--changed-since: git knows no commit '{revision}' in .*repository$"
    ):
        changes_since(revision, (repository,))


def test_a_branch_that_only_the_remote_has(repository: Path, tmp_path: Path, git: Git) -> None:
    git(repository, "branch", "release")
    git(tmp_path, "clone", "--quiet", str(repository), "clone")
    with pytest.raises(
        UsageError, match=r"git knows no commit 'release' in .*; did you mean origin/release\?$"
    ):
        changes_since("release", (tmp_path / "clone",))


def test_a_shallow_clone_says_how_to_get_the_rest(repository: Path, tmp_path: Path, git: Git) -> None:
    (repository / "pkg/a.py").write_text("A = 1\n")
    git(repository, "commit", "--quiet", "-am", "second")
    first = git(repository, "rev-parse", "HEAD~1")
    git(repository, "branch", "side", first)
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{repository}", "clone")
    clone = tmp_path / "clone"
    for revision in (first, "HEAD~1"):
        with pytest.raises(UsageError, match=r"is a shallow clone that does not hold .*git fetch"):
            changes_since(revision, (clone,))
    git(clone, "fetch", "--quiet", "--depth", "1", "origin", "side:side")
    with pytest.raises(UsageError, match=r"no common ancestor in .*, which is a shallow clone; "):
        changes_since("side", (clone,))
    git(clone, "fetch", "--quiet", "--unshallow")
    assert changed(clone, first) == {"pkg/a.py"}


def test_histories_that_never_met(repository: Path, git: Git) -> None:
    git(repository, "checkout", "--quiet", "--orphan", "other")
    git(repository, "commit", "--quiet", "-m", "another beginning")
    with pytest.raises(UsageError, match=r": main and HEAD have no common ancestor in [^,]*$"):
        changes_since("main", (repository,))


def test_a_repository_without_a_commit(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "--quiet")
    with pytest.raises(UsageError, match="git knows no commit 'HEAD'"):
        changes_since("HEAD", (tmp_path,))


def test_no_git_at_all(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="there is no git on PATH"):
        changes_since("HEAD", (repository,))


def test_an_index_that_git_cannot_read(repository: Path) -> None:
    (repository / ".git/index").write_bytes(b"damaged")
    with pytest.raises(UsageError, match=r"git diff failed in .*repository: .*index"):
        changes_since("HEAD", (repository,))
