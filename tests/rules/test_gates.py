"""The modules that mending one place keeps cold, compared with mending it and looking who is still warm."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from coldfork.model.causes import Audience, Cause, CheckedModule, Import, packages
from coldfork.model.effects import Verdict
from coldfork.rules.causes.gates import Gates
from coldfork.rules.causes.newcomers import Seed, Warmth
from tests.amounts import examples

_NAMES = ["a", "b", "c", "p", "p.d", "p.e", "p.q", "p.q.f", "r", "r.g"]
_CALLS = ["torch.cuda.init", "import flashinfer"]

_name = st.sampled_from(_NAMES)
_imports = st.lists(st.tuples(_name, _name), min_size=4, max_size=16, unique=True)
#: Waking lines: the module, the line, and what it calls. Several of one module are one mend.
_lines = st.lists(
    st.tuples(_name, st.integers(1, 3), st.sampled_from(_CALLS)),
    min_size=1,
    max_size=6,
    unique_by=lambda x: x[:2],
)


def warm(imports: Iterable[tuple[str, str]], woken: Iterable[str], without: str | None = None) -> set[str]:
    """Who is warm: whoever wakes, imports or lies in what is warm; `without` does nothing any more."""
    found = {name for name in woken if name != without}
    while True:
        more = {importer for importer, target in imports if target in found}
        more |= {name for name in _NAMES if not found.isdisjoint(packages(name))}
        more -= found | {without or ""}
        if not more:
            return found
        found |= more


def causes_of(imports: list[tuple[str, str]], lines: list[tuple[str, int, str]]) -> list[Cause]:
    warmth = Warmth(modules(), edges(imports))
    return [
        Cause(
            id=f"{name}:{line}",
            path=f"{name}.py",
            line=line,
            call=call,
            accelerator="cuda",
            effect="creates-context",
            verdict=Verdict.CERTAIN,
            condition=None,
            audience=Audience.LIBRARY,
            remedy="",
            findings=(),
            ways=warmth.ways({name: Seed(f"{name}.py", line)}),
        )
        for name, line, call in lines
    ]


def modules() -> list[CheckedModule]:
    return [CheckedModule(name, f"{name}.py", Audience.LIBRARY, True) for name in _NAMES]


def edges(imports: Iterable[tuple[str, str]]) -> list[Import]:
    return [Import(importer, f"{importer}.py", 1, target, True) for importer, target in imports]


def spared_by(imports: list[tuple[str, str]], woken: list[str]) -> tuple[dict[str, int], dict[str, int]]:
    """By file whose lines are mended, and by module that does nothing any more: how many it keeps cold."""
    before = warm(imports, woken)
    files = {name: before - warm(imports, [one for one in woken if one != name]) for name in set(woken)}
    gates = {name: before - warm(imports, woken, without=name) for name in _NAMES if name in before}
    return {k: len(v) for k, v in files.items()}, {k: len(v) for k, v in gates.items()}


@settings(max_examples=examples(100))
@given(_imports, _lines, st.sets(_name, min_size=3))
def test_a_gate_is_the_better_mend_of_what_is_behind_it(
    imports: list[tuple[str, str]], lines: list[tuple[str, int, str]], candidates: set[str]
) -> None:
    found = Gates(modules(), edges(imports)).widest(causes_of(imports, lines), candidates)
    woken = [name for name, *_ in lines]
    before = warm(imports, woken)
    files, gates = spared_by(imports, woken)
    outside = [name for name, _, call in lines if call.startswith("import ")]
    files_outside, gates_outside = spared_by(imports, outside)
    better = {
        name: gates[name]
        for name in candidates
        if name in before
        and before.isdisjoint(packages(name))
        and gates[name] > max(2, *files.values())
        and gates_outside.get(name, 0) > max(files_outside.values(), default=0)
    }
    if not better:
        assert found is None
    else:
        assert found is not None
        name, spares = found
        assert better[name] == max(better.values()) == len(spares)
        assert set(spares) == before - warm(imports, woken, without=name)
