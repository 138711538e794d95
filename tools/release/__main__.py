"""`./dev release`: cut a version, or build it, look into what was built, try it, and write its papers."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from release import building, contents, cutting, papers, trials
from release.pythons import Python, found
from release.running import ReleaseError, say

ROOT = Path(__file__).resolve().parents[2]
MINORS = (11, 12, 13)
DESCRIPTION = """\
Build the release that the last commit describes, into dist/: the source archive, a wheel for any machine, and
a compiled wheel for each Python. Each is looked into, installed in clean environments by pip, uv and pipx,
and used. `cut VERSION` comes before: it gathers changelog.d/ into CHANGELOG.md and sets the version.
"""
EPILOG = """\
examples:
  ./dev release cut 0.3.0        gather the changelog and set the version; edit the text, then commit
  ./dev release                  build and try everything on 3.11, 3.12 and 3.13
  ./dev release --python 3.12    on one Python only, while working on the release itself

Nothing is published: what lies in dist/ afterwards is for a person to upload.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "cut":
            cutting.cut(ROOT, options.version)
        else:
            release(options.dist, [int(text.removeprefix("3.")) for text in options.python] or list(MINORS))
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def release(dist: Path, minors: list[int]) -> None:
    """Build, look into, try and describe a release; a folder of artifacts is left only if all of it holds."""
    version = cutting.ready(ROOT)
    pythons: list[Python] = [found(minor) for minor in minors]
    with tempfile.TemporaryDirectory(prefix="coldfork-release-") as scratch:
        work = Path(scratch)
        checkout = building.clone(ROOT, work)
        built = building.build(checkout, work, pythons)
        for artifact in built.all:
            contents.look_into(artifact, version, (ROOT, work, Path.home()))
            say(f"{artifact.name}: {artifact.stat().st_size / 1e6:.2f} MB")
        resolved = trials.try_all(built, pythons, version, work)
        written = papers.write(work, checkout, built, version, resolved)
        contents.keep([*built.all, *written], dist)
    say(f"coldfork {version} is ready in {dist}; nothing was published")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev release",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", choices=("cut",), help="cut a version instead of building one")
    parser.add_argument("version", nargs="?", help="the version to cut")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where the artifacts go (dist/)")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="3.N",
        help="build for and try on this one (repeatable)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
