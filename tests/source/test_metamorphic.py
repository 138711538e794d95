"""The answer does not depend on names, lines, depth or position: real bugs, changed and still found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import mutate, relocate
from benchmarks.mutate import Package
from coldfork.model.findings import Finding
from coldfork.rules.registry import judge
from tests.source.expectations import observe

PACKAGES = Path(__file__).with_name("packages")
CASES = sorted(folder.name for folder in PACKAGES.iterdir() if folder.is_dir())
Change = Callable[[Package], dict[str, str]]

CHANGES: dict[str, Change] = {
    "as it is": dict,
    "renamed": mutate.rename,
    "renamed otherwise": lambda package: mutate.rename(package, 5),
    "shifted": mutate.shift,
    "deepened": mutate.deepen,
    "deepened twice": lambda package: mutate.deepen(mutate.rename(mutate.deepen(package), 1)),
    "all of it": lambda package: mutate.deepen(mutate.shift(mutate.rename(package, 3), 3)),
    **{
        f"moved to a {where}": lambda package, where=where: relocate.move_site(package, where)  # type: ignore[misc]
        for where in relocate.POSITIONS
    },
    **{
        f"all of it in a {where}": lambda package, where=where: mutate.rename(  # type: ignore[misc]
            mutate.deepen(mutate.shift(relocate.move_site(package, where), 7)), 9
        )
        for where in relocate.POSITIONS
    },
}


def read(case: str) -> dict[str, str]:
    package = mutate.load(PACKAGES / case)
    return {path: text for path, text in package.items() if not path.startswith("beside/")}


def findings_of(package: Package, case: str, folder: Path) -> tuple[Finding, ...]:
    mutate.write(package, folder)
    beside = PACKAGES / case / "beside"
    return judge(observe([folder], site_packages=beside if beside.is_dir() else None))


Place = tuple[str, int]


def passed(finding: Finding) -> set[Place]:
    """The places that a finding's chain leads through, its own among them."""
    return {
        (finding.path, finding.line),
        *((step.path, step.line) for step in finding.chain.steps if step.path and step.line),
    }


def assert_found(findings: tuple[Finding, ...], package: Package) -> tuple[Finding, ...]:
    """Require that marked lines are found, and beside them only imports on the same way."""
    marked = {(one.path, one.line, one.rule) for one in mutate.expectations(package)}
    culprits = [one for one in findings if (one.path, one.line, one.rule) in marked]
    assert len(culprits) == len(marked), f"found only {[(one.path, one.line, one.rule) for one in findings]}"
    places = {(path, line) for path, line, _ in marked}
    on_the_way = set().union(*(passed(one) for one in culprits))
    for one in findings:
        if one not in culprits:
            assert one.rule in {"waking-import", "eager-reexport"}, one
            assert places & passed(one) or (one.path, one.line) in on_the_way, one
    return tuple(culprits)


def applies(case: str, name: str) -> bool:
    """Whether the change can be made: an import is no argument and no decorator."""
    package = read(case)
    return all(
        where not in name or relocate.can_move(package, where) for where in ("default-argument", "decorator")
    )


@pytest.mark.parametrize(
    ("case", "name"), [(case, name) for case in CASES for name in CHANGES if applies(case, name)]
)
def test_a_bug_is_found_however_it_is_written(case: str, name: str, tmp_path: Path) -> None:
    package = CHANGES[name](read(case))
    findings = findings_of(package, case, tmp_path)
    assert {one.verdict.value for one in assert_found(findings, package)} == {"certain"}


@pytest.mark.parametrize("name", ["lazy", "lazy and changed"])
@pytest.mark.parametrize("case", CASES)
def test_made_lazy_it_is_silent(case: str, name: str, tmp_path: Path) -> None:
    package = relocate.move_site(read(case), "lazy")
    if name != "lazy":
        package = mutate.deepen(mutate.shift(mutate.rename(package, 4), 4))
    assert findings_of(package, case, tmp_path) == ()


@pytest.mark.parametrize("case", CASES)
def test_renaming_changes_names_only(case: str, tmp_path: Path) -> None:
    """Verdicts, positions and the shape of every chain stay when nothing but names change."""
    plain = findings_of(read(case), case, tmp_path / "plain")
    renamed = findings_of(mutate.rename(read(case), 2), case, tmp_path / "renamed")

    def shape(findings: tuple[Finding, ...]) -> object:
        return sorted(
            (
                one.line,
                one.rule,
                one.verdict.value,
                one.position or "",
                [(step.kind.value, step.line) for step in one.chain.steps],
            )
            for one in findings
        )

    assert shape(plain) == shape(renamed)


@pytest.mark.parametrize("case", CASES)
def test_the_mark_is_not_what_is_found(case: str, tmp_path: Path) -> None:
    """Without the comments the findings are the same."""
    package = read(case)
    bare = {path: mutate.EXPECTED.sub("#", text) for path, text in package.items()}
    assert_found(findings_of(bare, case, tmp_path), package)
