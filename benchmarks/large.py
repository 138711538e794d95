"""Says what large packages cost a cold check, in time and memory: `./dev bench large [--package NAME]`"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import measure, mount, targets, tool
from benchmarks.cases import Fetcher
from published import places
from published.errors import UnavailableError
from published.sources import Wanted

#: One run may take so many seconds before it counts as one that does not end.
LIMIT = 900.0
GENERATED_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Package:
    """A published package and the folder that holds its modules."""

    wanted: Wanted
    top: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one check."""

    name: str
    megabytes: float
    run: measure.Run

    @property
    def headline(self) -> dict[str, float]:
        """The figures that promises are about."""
        peak = (self.run.peak_bytes or 0) / 1e6
        return {
            "CPU": self.run.cpu_seconds,
            "CPU a megabyte": self.run.cpu_seconds / self.megabytes,
            "peak memory": peak,
        }

    def __str__(self) -> str:
        figures = self.headline
        return (
            f"{self.name:26} {self.megabytes:6.1f} MB {figures['CPU']:7.2f} CPU s "
            f"{figures['CPU a megabyte']:6.2f} a MB {self.run.seconds:7.2f} s "
            f"{figures['peak memory']:5.0f} MB at the peak"
        )


def _wheel(name: str, version: str, top: str) -> Package:
    return Package(Wanted(name, version, "wheel"), top)


#: Large, and of all kinds: mathematics, tables, learning, the web, databases, plots, tools, compilers.
PACKAGES = (
    _wheel("sympy", "1.14.0", "sympy"),
    _wheel("pandas", "3.1.1", "pandas"),
    _wheel("scipy", "1.17.1", "scipy"),
    _wheel("mlflow", "3.18.0", "mlflow"),
    _wheel("scikit-learn", "1.9.1", "sklearn"),
    _wheel("statsmodels", "0.15.0", "statsmodels"),
    _wheel("networkx", "3.6.1", "networkx"),
    _wheel("matplotlib", "3.11.2", "matplotlib"),
    _wheel("django", "5.2.19", "django"),
    _wheel("sqlalchemy", "2.1.9", "sqlalchemy"),
    _wheel("ansible-core", "2.19.14", "ansible"),
    _wheel("jax", "0.10.2", "jax"),
    _wheel("tensorflow-cpu", "2.18.0", "tensorflow"),
    Package(Wanted("transformers", "4.52.1"), "transformers"),
    Package(Wanted("diffusers", "0.42.1"), "diffusers"),
    Package(Wanted("nemo-toolkit", "2.4.0"), "nemo"),
    Package(Wanted("numba", "0.61.2"), "numba"),
    Package(Wanted("sglang", "0.5.21"), "sglang"),
    Package(Wanted("vllm", "0.33.0"), "vllm"),
    Package(Wanted("deepspeed", "0.16.4"), "deepspeed"),
)
#: Checked in one run for the memory that a large tree takes; the first few of `PACKAGES` up to so much.
TOGETHER_MEGABYTES = 80.0
TOGETHER = "80 MB together"
GENERATED = f"{GENERATED_LINES} generated lines"
TABLES: dict[str, Callable[[], str]] = {
    "a table of 20000 entries": lambda: table(20_000),
    "a table of 40000 entries": lambda: table(40_000),
    "20000 lines of messages": lambda: messages(20_000),
}
MEASURED = frozenset(
    {targets.ANY_LARGE, TOGETHER, GENERATED, *TABLES, *[one.wanted.name for one in PACKAGES]}
)
"""What a promise about large packages may be about."""


def generated(lines: int = GENERATED_LINES) -> str:
    """A module as tools write them: one assignment a line."""
    return "".join(f"VALUE_{n} = {n * 7919 % 100_003}\n" for n in range(lines))


def table(entries: int) -> str:
    """A module that holds one dictionary of constants."""
    rows = "".join(
        f"    'key_{n:06}': {{'name': 'entry number {n}', 'size': {n * 7919}, 'shape': ({n}, 3)}},\n"
        for n in range(entries)
    )
    return f"TABLE = {{\n{rows}}}\n"


def messages(lines: int) -> str:
    """A module as it is made from a description of messages: calls with calls in them, of names."""
    head = "from google.protobuf import descriptor as _descriptor\n\n"
    field = (
        "    _descriptor.FieldDescriptor(\n"
        "      name='field', full_name='package.Message.field', index=0, number=1, type=5, cpp_type=1,\n"
        "      label=1, has_default_value=False, default_value=0, message_type=None, enum_type=None,\n"
        "      containing_type=None, is_extension=False, serialized_options=None, file=DESCRIPTOR),\n"
    )
    one = "_MESSAGE_{n} = _descriptor.Descriptor(\n  name='Message{n}', fields=[\n" + field * 9 + "  ])\n"
    one += "_MESSAGE_{n}.serialized_start = {n}\n"
    return head + "".join(one.format(n=n) for n in range(lines // one.count("\n")))


def megabytes(folders: Sequence[Path]) -> float:
    """How much Python source lies in some folders."""
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*.py")) / 1e6


def cost(name: str, folders: Sequence[Path], scratch: Path) -> Cost:
    """One cold check of some folders, with nothing beside them."""
    beside = scratch / "nothing-beside"
    beside.mkdir(exist_ok=True)
    command = tool.command(
        folders[0], *map(str, folders[1:]), "--no-cache", "--exit-zero", "--format", "json"
    )
    command += ["--output", str(scratch / "report.json"), "--site-packages", str(beside)]
    environment = tool.environment(scratch / "cache")
    run = measure.once(command, environment=environment, limit=LIMIT, memory=True)
    return Cost(name, megabytes(folders), run)


def together(folders: Sequence[Path]) -> list[Path]:
    """As many of the folders as hold the size at which memory is promised."""
    chosen: list[Path] = []
    for folder in folders:
        chosen.append(folder)
        if megabytes(chosen) >= TOGETHER_MEGABYTES:
            break
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a promise is missed and `--strict` is given."""
    options = _options(arguments)
    fetch = Fetcher(places.sources())
    chosen = [one for one in PACKAGES if not options.package or one.wanted.name in options.package]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="coldfork-large-") as place:
        scratch = Path(place)
        folders: list[Path] = []
        for package in chosen:
            try:
                folders.append(mount.package_root(fetch(package.wanted), package.top) / package.top)
                missed += _show(cost(package.wanted.name, folders[-1:], scratch), of_package=True)
            except UnavailableError as error:
                print(f"{package.wanted.name}: {error}", flush=True)
                missed += 1
        if not options.package and folders:
            missed += _show(cost(TOGETHER, together(folders), scratch))
        if not options.package:
            for number, (name, make) in enumerate({GENERATED: generated, **TABLES}.items()):
                made = scratch / f"generated{number}"
                made.mkdir()
                (made / "table.py").write_text(make(), encoding="utf-8")
                missed += _show(cost(name, [made], scratch))
    return 1 if missed and options.strict else 0


def _show(measured: Cost, of_package: bool = False) -> int:
    """Print what a check took; how many promises it breaks."""
    print(measured, flush=True)
    kept = targets.compare(measured.name, measured.headline)
    if of_package:
        kept += targets.compare(targets.ANY_LARGE, measured.headline)
    for one in kept:
        print(f"  {one}", flush=True)
    return sum(not one.met for one in kept)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench large", description=__doc__)
    parser.add_argument(
        "--package",
        action="append",
        choices=[one.wanted.name for one in PACKAGES],
        help="one package (again for more); default all, then 80 MB of them in one run, then generated files",
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 when a promise is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
