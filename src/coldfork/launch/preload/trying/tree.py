"""The modules that an import has loaded, as they were told of."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any


class Node:
    """One module that was loaded, and those that were loaded for it, in their order."""

    __slots__ = ("by", "children", "line", "loaded", "name", "parent", "path", "seconds")

    def __init__(self, name: str, parent: Node | None, event: Mapping[str, Any]) -> None:
        self.name = name
        self.parent = parent
        self.path: str | None = event.get("path")
        self.by: str | None = event.get("by")
        self.line: int | None = event.get("line")
        """The line that asked for it."""
        self.seconds = 0.0
        self.loaded = False
        """Whether its loading came to its end, and well."""
        self.children: list[Node] = []

    def chain(self) -> list[Node]:
        """From the outermost module down to this one."""
        above = [] if self.parent is None else self.parent.chain()
        return [*above, self] if self.name else above

    def walk(self) -> Iterator[Node]:
        """This one and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


class Tree:
    """Grows with what is told of loads; `root` stands for nobody."""

    def __init__(self) -> None:
        self.root = Node("", None, {})
        self.current = self.root
        self.nodes: dict[str, Node] = {}
        self.items: dict[str, Node] = {}
        """What was loaded for each module that was asked for."""

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take note of a load that begins or ends, or of what is imported next."""
        if event["event"] == "item":
            # A node without a name: importing a module loads the packages around it before.
            self.current = self.items[event["module"]] = Node("", self.root, {})
            self.root.children.append(self.current)
        elif event["event"] == "begin":
            node = Node(event["module"], self.current, event)
            self.current.children.append(node)
            self.nodes.setdefault(node.name, node)
            self.current = node
        elif event["event"] == "end":
            node = self.current
            while node.name != event["module"] and node.name and node.parent is not None:
                node = node.parent
            if node.name and node.parent is not None:
                node.seconds, node.loaded = event["seconds"], event["loaded"]
                self.current = node.parent


def untainted(node: Node, is_tainted: Callable[[str], bool]) -> Iterator[Node]:
    """The largest parts below a node in which no module is tainted, in their order."""
    for child in node.children:
        if child.loaded and not any(is_tainted(one.name) for one in child.walk()):
            yield child
        else:
            yield from untainted(child, is_tainted)
