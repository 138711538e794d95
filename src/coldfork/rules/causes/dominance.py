"""How much would stay cold if one module passed nothing on, or if one line woke nothing.

Every way from a cause to a module may lead through the same place: the place dominates the module, and
mending it alone keeps the module cold. One pass over the imports answers that for all places at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Graph = Mapping[str, Sequence[str]]


def dominated(graph: Graph, root: str) -> dict[str, set[str]]:
    """For every node in reach of the root: the nodes that are reached through it only, itself too."""
    order = _in_order(graph, root)
    number = {node: index for index, node in enumerate(order)}
    before: list[list[int]] = [[] for _ in order]
    for node in order:
        for following in graph.get(node, ()):
            before[number[following]].append(number[node])
    nearest = _nearest_dominators(before)
    below: list[set[str]] = [{node} for node in order]
    for index in range(len(order) - 1, 0, -1):
        below[nearest[index]] |= below[index]
    return {node: below[index] for index, node in enumerate(order)}


def _in_order(graph: Graph, root: str) -> list[str]:
    """The nodes in reverse postorder: each after those that lead to it, as far as there are no circles."""
    done: list[str] = []
    seen = {root}
    stack = [(root, iter(graph.get(root, ())))]
    while stack:
        node, rest = stack[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            done.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(graph.get(following, ()))))
    return done[::-1]


def _nearest_dominators(before: Sequence[Sequence[int]]) -> list[int]:
    """The nearest dominator of each node, by number: Cooper, Harvey and Kennedy's algorithm."""
    nearest = [-1] * len(before)
    nearest[0] = 0

    def common(one: int, other: int) -> int:
        while one != other:
            while one > other:
                one = nearest[one]
            while other > one:
                other = nearest[other]
        return one

    changed = True
    while changed:
        changed = False
        for index in range(1, len(before)):
            found = -1
            for one in before[index]:
                if nearest[one] >= 0:
                    found = one if found < 0 else common(found, one)
            if nearest[index] != found:
                nearest[index], changed = found, True
    return nearest
