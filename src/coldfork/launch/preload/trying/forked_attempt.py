"""One attempt in a forked child, with its reports, until it is clean and takes over, or fails."""

from __future__ import annotations

import os
from _signal import SIGKILL, pause
from time import monotonic

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.loop import readable
from coldfork.observe import states
from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, NoReturn

    from coldfork.observe.recording.events import Event

    Tell = Callable[[Event], None]

CLEAN = "clean"
"""The last event of a child that takes over from its parent."""
_MOST = 1 << 16


def wait_for_the_end() -> NoReturn:
    """Wait to be killed; until then, processes that this one has started can be found as its descendants."""
    while True:
        pause()


class Node:
    """One loaded module, with the modules that it loaded in turn, in order."""

    __slots__ = ("by", "children", "line", "loaded", "name", "parent", "path", "seconds")

    def __init__(self, name: str, parent: Node | None, event: Mapping[str, Any]) -> None:
        self.name: str = name
        self.parent: Node | None = parent
        self.path: str | None = event.get("path")
        self.by: str | None = event.get("by")
        self.line: int | None = event.get("line")
        """The line that requested it."""
        self.seconds: float = 0.0
        self.loaded: bool = False
        """Whether the module was loaded completely and without an error."""
        self.children: list[Node] = []

    def chain(self) -> list[Node]:
        """Return the modules from the outermost down to this one."""
        above = [] if self.parent is None else self.parent.chain()
        return [*above, self] if self.name else above

    def steps(self, path: str | None, line: int | None) -> list[Event]:
        """Return the chain as events, each with the line that requests the next module; the last one has this
        line.
        """
        chain = self.chain()
        onward = [*((one.by, one.line) for one in chain[1:]), (path, line)]
        return [
            {"module": one.name, "path": by or one.path, "line": number}
            for one, (by, number) in zip(chain, onward, strict=True)
        ]

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it."""
        yield self
        for child in self.children:
            yield from child.walk()


class Tree:
    """The tree of loaded modules, built from reports; `root` stands for no module."""

    def __init__(self) -> None:
        self.root: Node = Node("", None, {})
        self.current: Node = self.root
        self.nodes: dict[str, Node] = {}
        self.items: dict[str, Node] = {}
        """The modules that were loaded for each requested module."""

    def hear(self, event: Mapping[str, Any]) -> None:
        """Record the report that a load has begun or ended, or that the next module will be imported."""
        if event["event"] == "item":
            # It gets its name later: importing a module first loads the packages that contain it.
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
    """Yield, in order, the largest subtrees below a node that contain no tainted module."""
    for child in node.children:
        if child.loaded and not any(is_tainted(one.name) for one in child.walk()):
            yield child
        else:
            yield from untainted(child, is_tainted)


class Heard:
    """The reports of a child about its attempt, as the parent has received them."""

    def __init__(self) -> None:
        self.tree: Tree = Tree()
        self.stains: list[Event] = []
        self.raised: list[Event] = []
        self.breaks: Event | None = None
        """The kind of work that a forked child of it could not do."""
        self.waker: Event | None = None
        self.clean: bool = False
        self.ended: bool = False
        """Whether it has finished and waits to be killed."""
        self.reached: str | None = None
        """The forbidden module that it was about to import."""
        self.timed_out = False

    def hear(self, event: Event) -> None:
        """Record one event."""
        kind = event["event"]
        if kind in ("item", "begin", "end"):
            self.tree.hear(event)
        elif kind == "stain":
            self.stains.append(event)
        elif kind == "raised":
            self.raised.append(event)
        elif kind == "forked":
            self.breaks = None if event["safe"] else event
        elif kind == "waker":
            self.waker = event["waker"]
        elif kind == CLEAN:
            self.clean = True
        elif kind == "reached":
            self.reached, self.ended = event["module"], True
        elif kind == "ended":
            self.ended = True


def fork_and_hear(
    live: Callable[[Tell], object], patience: float, also: Callable[[Event], None] = lambda event: None
) -> Heard | None:
    """Fork a child that runs `live`, and return its reports; return None in the child once it is clean.

    The child, with all that it started, is killed when it has finished or has reported nothing for this many
    seconds.
    """
    reading, writing = os.pipe2(os.O_CLOEXEC)
    states.remember_for_children()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write = os.write

        def tell(event: Event) -> None:
            content = encode(event)
            while content:
                content = content[write(writing, content) :]

        if not live(tell):
            tell({"event": "ended"})
            wait_for_the_end()
        tell({"event": CLEAN})
        os.close(writing)
        return None
    os.close(writing)
    heard = Heard()
    try:
        _listen(reading, heard, patience, also)
    finally:
        os.close(reading)
        if not heard.clean:
            kernel.signal_all([*kernel.descendants(child), child], SIGKILL)
            kernel.reap(child)
    return heard


def _listen(reading: int, heard: Heard, patience: float, also: Callable[[Event], None]) -> None:
    rest, until = b"", monotonic() + patience
    while not (heard.clean or heard.ended):
        left = until - monotonic()
        if left <= 0:
            heard.timed_out = True
            return
        if not readable([reading], left):
            continue
        piece = os.read(reading, _MOST)
        if not piece:
            return
        until = monotonic() + patience
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            event = decode(line.decode("ascii"))
            heard.hear(event)
            also(event)
