"""Which files are looked at for captures, and where in them: at least wherever one may begin."""

from __future__ import annotations

import pytest

from coldfork.source.syntax.capture_hints import calls_of, capturing, places

pytestmark = pytest.mark.once

CAPTURING = [
    "with torch.cuda.graph(g): pass",
    "with device.graph(g): pass",
    "graph.capture_begin()",
    "torch.cuda.make_graphed_callables(f, x)",
    "from torch.cuda import graph\nwith graph(g): pass",
    "from torch.cuda.graphs import graph\nwith graph(g): pass",
    "from torch.cuda.graphs import graph as recorded\nwith recorded(g): pass",
    "from torch.cuda import graph as recorded\nwith recorded(g): pass",
    "from coldfork.graphs import GraphManager\nGraphManager().capture(f)",
    "from coldfork.graphs import check\ncheck(f)",
    "from coldfork import virtual  # graph\nwith virtual.capture(): pass",
]


@pytest.mark.parametrize("source", CAPTURING)
def test_a_file_that_captures_is_looked_at(source: str) -> None:
    assert capturing(source.encode())
    assert places(source.encode())


@pytest.mark.parametrize(
    "source", ["import torch", "paragraph(1)", "print('graph')", "networkx.Graph()", "capture(f)", "check(f)"]
)
def test_other_files_are_spared(source: str) -> None:
    assert not capturing(source.encode())
    assert not places(source.encode())


def test_the_places_are_where_the_words_stand() -> None:
    source = b"from torch.cuda import graph as recorded\nwith recorded(g): pass\nx.graph(1)\ncapture(f)\n"
    assert sorted(places(source)) == [source.index(b"recorded(g)"), source.index(b"graph(1)")]


def test_calls_are_found_by_their_whole_names() -> None:
    found = calls_of({"run", "capture"})
    source = b"run(1) rerun(2) running(3) x.capture(4) run capture\n"
    assert [source[match.end() : match.end() + 1] for match in found.finditer(source)] == [b"1", b"4"]
