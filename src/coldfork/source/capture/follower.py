"""Follows a function that captures a graph: what runs before the capture, and what is captured."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.captures import CaptureKind
from coldfork.source.capture import calls, expressions, statements
from coldfork.source.capture.device import batch_dependence
from coldfork.source.capture.names import Names
from coldfork.source.capture.objects import ClassDef, Env, Func, Known, Outside, Tensor, Thing, Value
from coldfork.source.capture.state import DATA, Frame, Region, Run
from coldfork.source.program.module import Module as ModuleState
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node
from coldfork.source.values.conditions import Condition

_TENSORS = frozenset({"torch.Tensor", "torch.LongTensor", "torch.FloatTensor", "torch.nn.Parameter"})


class Follower:
    """Runs code over things with identity, one path for what is known and all for what is not."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.run = Run(names)

    @property
    def frame(self) -> Frame:
        """The function that is being followed."""
        return self.run.stack[-1]

    def evaluate(self, node: Node) -> Value:
        """What an expression gives."""
        return expressions.evaluate(self, node)

    def execute(self, block: Block) -> bool:
        """Follow statements; True when nothing behind them is reached."""
        return statements.execute(self, block)

    def level(self, node: Node) -> int:
        """How much an expression hangs on the batch."""
        return batch_dependence.level(self, node)

    def call(
        self, func: Func, arguments: list[Value], keywords: dict[str, Value], levels: list[int]
    ) -> Value:
        """Follow a call of a function of the checked code."""
        return calls.enter(self, func, arguments, keywords, levels)

    # -- the function to begin with -----------------------------------------------------------------

    def root(self, func: Func) -> None:
        """Follow a function with parameters of which nothing is known."""
        env = Env(func.env)
        names, _defaults, star, keyword_only, _keyword_defaults, stars = func.code[0]
        annotated = dict(func.code[7])
        for name in (*names, star, *keyword_only, stars):
            if name is not None:
                thing = Thing(name, True)
                self.annotate(func.module, annotated.get(name), thing)
                env.names[name], env.levels[name] = thing, DATA
        if func.owner is not None and names:
            own = func.bound or Thing(names[0], True, func.owner)
            env.names[names[0]], env.own = own, own
        self.run.stack.append(Frame(func, env))
        self.run.followed.add(func.place)
        try:
            self.execute(func.code[1])
        finally:
            self.end()
            self.run.stack.pop()

    def annotate(self, module: ModuleState, annotation: Node | None, thing: Thing) -> None:
        """Note what an annotation says of an object."""
        if annotation is None:
            return
        thing.present = thing.present or not _may_be_none(annotation)
        if annotation[0] == nodes.BINARY and annotation[1] == "or":
            _, _, left, right, _ = annotation
            if (nodes.CONST, None) not in (left, right):
                return
            annotation = right if left == (nodes.CONST, None) else left
        elif (
            annotation[0] == nodes.INDEX and annotation[1][0] == nodes.NAME and annotation[1][1] == "Optional"
        ):
            annotation = annotation[2]
        meaning = self.names.static(module, annotation)
        if isinstance(meaning, ClassDef):
            thing.typed = meaning
        elif isinstance(meaning, Outside) and meaning.name in _TENSORS:
            thing.tensor = Tensor()
        elif isinstance(meaning, Outside) and meaning.name == "numpy.ndarray":
            thing.made_by = meaning.name

    # -- regions ------------------------------------------------------------------------------------

    def begin(self, line: int, column: int, end: int) -> bool:
        """Begin a captured region at the present frame; False when one is open already."""
        self.run.begun += 1
        if self.run.region is not None:
            return False
        captor = self.frame.func
        conditions = tuple(dict.fromkeys(c for frame in self.run.stack for c in frame.conditions))
        self.run.touched.clear()
        self.run.region = Region(
            captor.module.name, line, end, column, captor, len(self.run.stack), conditions
        )
        return True

    def end(self) -> None:
        """The captured region ends; what it used of an earlier pass's leavings is told."""
        run = self.run
        if run.region is None:
            return
        made_in = [env for _, target in run.called if isinstance(target, Func) for env in envs_of(target)]
        for thing, first, hops, text, envs in run.kept:
            if id(thing) in run.touched and any(env is one for env in made_in for one in envs):
                words = f"what {first.work} leaves differs between batches"
                run.catch(
                    CaptureKind.REUSES_STATE,
                    text,
                    f"{text}, built by the first call only",
                    (*first.conditions, Condition(words=words)),
                    earlier=(first.module, first.line),
                    hops=hops[run.region.depth - 1 :] or hops,
                )
        run.region = None
        run.called.clear()

    # -- small questions ----------------------------------------------------------------------------

    def condition(self, span: tuple[int, int, int, int], negated: bool = False) -> Condition:
        """A test of the present function, to be quoted later."""
        return Condition(self.frame.func.module.name, span, negated)

    def truth(self, value: Value) -> bool | None:
        """Whether a value is true, when that is known."""
        if isinstance(value, Known):
            return bool(value.value)
        if isinstance(value, (Func, ClassDef)):
            return True
        if type(value) is Thing and value.cls is not None and not value.before:
            return True
        return None

    def fresh(self, name: str, made_by: str = "") -> Thing:
        """An object that is made now."""
        return Thing(name, False, made_by=made_by)


def envs_of(func: Func) -> Iterator[Env]:
    """The functions around a function."""
    env = func.env
    while env is not None:
        yield env
        env = env.outer


def _may_be_none(annotation: Node) -> bool:
    """True for an annotation that allows None, or says nothing."""
    op = annotation[0]
    if op == nodes.CONST:
        return True
    if op == nodes.BINARY:
        return _may_be_none(annotation[2]) or _may_be_none(annotation[3])
    name = annotation[1] if op == nodes.INDEX else annotation
    last = name[2] if name[0] == nodes.ATTR else name[1] if name[0] == nodes.NAME else ""
    return last in ("Optional", "Union", "Any", "object", "")
