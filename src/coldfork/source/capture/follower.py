"""Follows a function that captures a graph: what runs before the capture, and what is captured."""

from __future__ import annotations

from coldfork.model.captures import CaptureKind
from coldfork.source.capture import expressions
from coldfork.source.capture.calls import functions
from coldfork.source.capture.device import batch_dependence
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.objects import Env, Func, Object, Tensor
from coldfork.source.capture.state import DEPENDENT, Frame, Region
from coldfork.source.capture.statements import dispatch
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, last_name
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import ClassRef, External

_TENSORS = frozenset({"torch.Tensor", "torch.LongTensor", "torch.FloatTensor", "torch.nn.Parameter"})


class Follower(Following):
    """Runs code over objects with identity, one path for what is known and all for what is not."""

    evaluate = expressions.evaluate
    execute = dispatch.execute
    level = batch_dependence.level
    call = functions.enter

    # -- the function to begin with -----------------------------------------------------------------

    def root(self, func: Func) -> None:
        """Follow a function with parameters of which nothing is known."""
        env = Env(func.env)
        names, _, star, keyword_only, _, double_star, _ = func.code.parameters
        annotated = dict(func.code.annotations)
        for name in (*names, star, *keyword_only, double_star):
            if name is not None:
                subject = Object(name, True)
                self.annotate(func.module, annotated.get(name), subject)
                subject.data = (DEPENDENT, name)
                env.names[name], env.levels[name] = subject, DEPENDENT
        if func.owner is not None and names:
            own = func.bound if type(func.bound) is Object else Object(names[0], True, func.owner)
            env.names[names[0]], env.own = own, own
        self.run.stack.append(Frame(func, env))
        self.run.followed.add(func.place)
        try:
            self.execute(func.code.block)
        finally:
            self.end()
            self.run.stack.pop()

    def annotate(self, module: Module, annotation: Node | None, subject: Object) -> None:
        if annotation is None:
            return
        subject.present = subject.present or not _may_be_none(annotation)
        match annotation:
            case (nodes.BINARY, "or", named, (nodes.CONST, None), _):
                annotation = named
            case (nodes.BINARY, "or", (nodes.CONST, None), named, _):
                annotation = named
            case (nodes.BINARY, "or", *_):
                return
            case (nodes.INDEX, (nodes.NAME, "Optional", _), named, _):
                annotation = named
        meaning = self.names.static(module, annotation)
        if isinstance(meaning, ClassRef):
            subject.typed = meaning
        elif isinstance(meaning, External) and meaning.name in _TENSORS:
            subject.tensor = Tensor()
        elif isinstance(meaning, External) and meaning.name == "numpy.ndarray":
            subject.made_by = meaning.name

    # -- regions ------------------------------------------------------------------------------------

    def begin(self, line: int, column: int, end: int) -> bool:
        self.run.begun += 1
        if self.run.region is not None:
            return False
        captor = self.frame.func
        conditions = tuple(dict.fromkeys(c for frame in self.run.stack for c in frame.conditions))
        self.run.touched.clear()
        self.run.lines.clear()
        self.run.renewed.clear()
        self.run.parts.clear()
        self.run.renewed_parts.clear()
        self.run.handed.clear()
        self.run.region = Region(
            captor.module.name, line, end, column, captor, len(self.run.stack), conditions
        )
        return True

    def end(self) -> None:
        """The captured region ends; what it used of an earlier pass's leavings is recorded."""
        run = self.run
        if run.region is None:
            return
        choices.settle(self)
        made_in = [env for _, target in run.called if isinstance(target, Func) for env in target.around()]
        for subject, first, steps, text, envs in run.leftovers:
            if id(subject) in run.touched and any(env is one for env in made_in for one in envs):
                words = f"what {first.work} leaves differs between batches"
                run.observe(
                    CaptureKind.REUSES_STATE,
                    text,
                    f"{text}, built by the first call only",
                    (*first.conditions, Condition(words=words)),
                    earlier=(first.module, first.line),
                    steps=steps[run.region.depth - 1 :] or steps,
                )
        run.region = None
        run.called.clear()


def _may_be_none(annotation: Node) -> bool:
    """True for an annotation that allows None, or says nothing."""
    match annotation:
        case (nodes.CONST, _):
            return True
        case (nodes.BINARY, _, left, right, _):
            return _may_be_none(left) or _may_be_none(right)
        case (nodes.INDEX, name, _, _) | name:
            return last_name(name) in ("Optional", "Union", "Any", "object", None)
