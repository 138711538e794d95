"""Whether findings depend on what modules are called and on which comes first: ./dev bench shuffle.

Every package is checked as it is, and again under other names for its modules, which puts them into another
order. What is found must be the same up to the names; columns are left out, because names differ in length.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import mount, tool
from benchmarks.renaming import WORD, Renaming
from published import places
from published.errors import UnavailableError
from published.sources import Wanted, present

#: Packages, with the top package that is checked.
PACKAGES = {
    "vllm==0.11.0": "vllm",
    "fla-core==0.6.0": "fla",
    "flashinfer-python==0.7.1": "flashinfer",
    "mmcv==2.2.0": "mmcv",
    "diffusers==0.42.1": "diffusers",
    "accelerate==1.6.0": "accelerate",
    "transformer-engine==2.20.2": "transformer_engine",
    "torchao==0.18.0": "torchao",
    "trl==0.18.0": "trl",
    "quack-kernels==0.6.5": "quack",
    "lmcache==0.4.5": "lmcache",
}
#: What may differ with the length of a name, is made from the text of a line, or says where the copy lies.
_LEFT_OUT = frozenset({"column", "end_column", "id", "cause", "text", "fingerprint", "file"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print, and say whether every package got the same findings each time."""
    parser = argparse.ArgumentParser(prog="./dev bench shuffle", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="NAME==VERSION", help="by default ten and one more")
    parser.add_argument("--rounds", type=int, default=5, help="other names for each package")
    asked = parser.parse_args(arguments)
    total = 0
    for wanted in asked.packages or PACKAGES:
        try:
            total += _differences(wanted, asked.rounds)
        except UnavailableError as error:
            print(f"{wanted:28} left out: {error}")
    print(f"{total} differences")
    return 1 if total else 0


def _differences(wanted: str, rounds: int) -> int:
    name, _, version = wanted.partition("==")
    root = present(Wanted(name, version), places.sources())
    if root is None:
        raise UnavailableError(f"fetch it with ./dev bench sources {wanted}")
    top = PACKAGES.get(wanted, name)
    package = mount.package_root(root, top) / top
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty"
        empty.mkdir()
        # What its distribution says of it, the renamed ones cannot say of themselves.
        as_it_is = Path(shutil.copytree(package, Path(folder) / "as-it-is" / top))
        before = _plain(tool.check(as_it_is, empty), {})
        for number in range(rounds):
            renaming = Renaming(package, Random(number))
            target = renaming.write(Path(folder) / str(number))
            after = _plain(tool.check(target, empty), renaming.originals)
            differing = sorted(before ^ after)
            found += len(differing)
            print(
                f"{wanted:28} {len(renaming.names):5} names {len(before):4} entries {len(differing):4} differ"
            )
            for one in differing[:4]:
                print(f"    {'only before' if one in before else 'only after'}: {one[:160]}")
    return found


def _plain(report: tool.Report, originals: Mapping[str, str]) -> set[str]:
    """Findings and modules that were not followed to their end, under the old names."""
    entries = [*report["findings"], *report.get("unfinished", ())]
    return {
        WORD.sub(lambda found: originals.get(found[0], found[0]), json.dumps(_stripped(one), sort_keys=True))
        for one in entries
    }


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stripped(held) for key, held in value.items() if key not in _LEFT_OUT}
    return [_stripped(held) for held in value] if isinstance(value, list) else value


if __name__ == "__main__":
    raise SystemExit(main())
