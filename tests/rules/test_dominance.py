"""The causes left cold by mending one place, compared with taking the place away and looking."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coldfork.rules.causes.gates import dominated

_NODES = [str(number) for number in range(9)]
_graphs = st.dictionaries(st.sampled_from(_NODES), st.lists(st.sampled_from(_NODES), max_size=4))


def reached(graph: dict[str, list[str]], without: str | None) -> set[str]:
    found: set[str] = set()
    pending = ["0"]
    while pending:
        node = pending.pop()
        if node != without and node not in found:
            found.add(node)
            pending += graph.get(node, [])
    return found


@given(_graphs)
def test_a_place_dominates_what_is_out_of_reach_without_it(graph: dict[str, list[str]]) -> None:
    everything = reached(graph, None)
    assert dominated(graph, "0") == {node: everything - reached(graph, node) for node in everything}
