"""Follow several ways from one point, each with its own variables and certainty, and join them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.trace import Conditions, Failure
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import (
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    ModuleRef,
    Union,
    Value,
)
from coldfork.source.values.unions import alternatives, under, union

#: How a condition begins that says which of several values was taken.
TAKING = "the value is"
FALLS, RETURNS, RAISES, BREAKS, CONTINUES = range(5)


class Arm(NamedTuple):
    """How following one way ended."""

    condition: Condition | None
    nominal: bool
    ended: int
    must: set[str]
    names: dict[str, Value] | None
    extra: Conditions
    off: Condition | None
    sites: tuple[int, int]
    raised: str = ""


class Arms:
    """The ways from one point of a frame."""

    def __init__(self, ev: Interpreter, frame: Frame) -> None:
        self.ev = ev
        self.frame = frame
        self.conditions = frame.conditions
        self.presumed = frame.presumed
        self.must = frame.must
        self.off = frame.off
        self.names = frame.env.names if frame.env is not None else None
        self.done: list[Arm] = []
        self.siblings = True
        """False where one way may run after part of another, as the handlers of a `try` do."""

    def follow(
        self,
        work: Callable[[], int],
        condition: Condition | None,
        nominal: bool,
        presumes: str = "",
        narrowed: dict[str, Value] | None = None,
    ) -> None:
        """Follow one way under `condition`; off the nominal path nothing it does is certain."""
        frame = self.frame
        self.ev.fuel -= 2
        frame.must = set(self.must)
        frame.conditions = self.conditions if condition is None else (*self.conditions, condition)
        frame.presumed = (
            (*self.presumed, presumes) if presumes and presumes not in self.presumed else self.presumed
        )
        frame.off = self.off if nominal else (self.off or condition)
        if frame.env is not None and self.names is not None:
            frame.env.names = {**self.names, **narrowed} if narrowed else dict(self.names)
        first = len(frame.sites)
        base = len(frame.conditions)
        raised = ""
        # What an earlier way wrote into an object is joined with what this one writes, not overwritten.
        joining = nominal and any(arm.nominal for arm in self.done)
        self.ev.joining += joining
        try:
            ended = work()
        except Raised as problem:
            ended, raised = RAISES, problem.kind
            if nominal:
                frame.raise_musts.append(set(frame.must))
                if condition is not None and self.ev.failing:
                    self.ev.failing[-1].append(Failure(condition, True, raised))
        finally:
            self.ev.joining -= joining
        self.done.append(
            Arm(
                condition,
                nominal,
                ended,
                frame.must,
                frame.env.names if frame.env is not None else None,
                frame.conditions[base:],
                frame.off,
                (first, len(frame.sites)),
                raised,
            )
        )

    def join(self) -> int:
        """Join the ways; how the whole ended."""
        frame = self.frame
        frame.conditions, frame.presumed, frame.off = self.conditions, self.presumed, self.off
        nominal = [arm for arm in self.done if arm.nominal]
        falling = [arm for arm in nominal if arm.ended == FALLS]
        others = [arm for arm in self.done if not arm.nominal and arm.ended == FALLS]
        if not falling:
            frame.must = set.intersection(*[arm.must for arm in nominal]) if nominal else set(self.must)
            if not others:
                self._restore(nominal or self.done)
                return max((arm.ended for arm in nominal), default=FALLS)
            # What follows runs off the nominal path only.
            rest = others[0]
            frame.off = self.off or rest.condition
            if rest.condition is not None:
                frame.conditions = (*self.conditions, rest.condition)
            frame.must = set(self.must)
            self._restore(others)
            return FALLS
        frame.must = set.intersection(*[arm.must for arm in falling])
        if self.siblings:
            self._promote(nominal, frame.must - self.must)
        self._restore([*falling, *others])
        extra: list[Condition] = []
        for arm in self.done:
            leaves = arm.ended in (RETURNS, BREAKS, CONTINUES) or (arm.ended == RAISES and frame.tries > 0)
            if arm.nominal and leaves and arm.condition is not None:
                extra.append(negated(arm.condition))
            elif arm.nominal and arm.ended == FALLS:
                extra.extend(arm.extra)
            elif (
                not arm.nominal
                and arm.ended != FALLS
                and arm.condition is not None
                and arm.condition.presumes
            ):
                if arm.condition.presumes not in frame.presumed:
                    frame.presumed = (*frame.presumed, arm.condition.presumes)
        if extra:
            frame.conditions = (*frame.conditions, *[c for c in extra if c not in frame.conditions])
        return FALLS

    def leave(self) -> int:
        """Join the ways; raise where all of them do."""
        ended = self.join()
        if ended == RAISES:
            raise Raised(self.raised)
        return ended

    @property
    def raised(self) -> str:
        """The exception that the ways end in."""
        return next((arm.raised for arm in self.done if arm.raised), "other")

    def _promote(self, arms: list[Arm], sure: set[str]) -> None:
        """Sibling ways that all wake a device are certain together."""
        if not sure or not self.frame.toplevel or self.conditions:
            return
        sites = self.frame.sites
        for arm in arms:
            for index in range(*arm.sites):
                site = sites[index]
                wake = site.wake
                if (
                    wake.surety in sure
                    and len(wake.conditions) <= 1
                    and arm.ended == FALLS
                    and not wake.possible
                ):
                    if not wake.conditions or wake.conditions[0] == arm.condition:
                        sites[index] = site._replace(certain=True, wake=wake._replace(conditions=()))

    def _restore(self, arms: list[Arm]) -> None:
        """Variables after the join: each may hold what any of the ways left in it."""
        env = self.frame.env
        if env is None:
            return
        every = [arm for arm in arms if arm.names is not None]
        if not every:
            return
        if len(every) == 1:
            env.names = every[0].names or {}
            if not every[0].nominal and self.names is not None:
                env.names = {**self.names, **env.names}
            return
        merged: dict[str, Value] = {}
        every.sort(key=lambda arm: not arm.nominal)
        for arm in every:
            assert arm.names is not None
            for name, value in arm.names.items():
                known = merged.get(name)
                if known is None:
                    merged[name] = value if arm.nominal else under(value, arm.condition)
                elif known is not value and known != value:
                    merged[name] = union((known, value), None if arm.nominal else arm.condition)
        for name in self.frame.globals:
            # A way that did not rebind a global left it as the module has it.
            if name in merged and any(arm.names is not None and name not in arm.names for arm in every):
                held = self.ev.global_value(self.frame, name)
                merged[name] = union((held, merged[name]))
        env.names = merged


def negated(condition: Condition) -> Condition:
    """The condition that this one does not hold."""
    if condition.words:
        return condition._replace(
            words=condition.words.removeprefix("not: ")
            if condition.words.startswith("not: ")
            else f"not: {condition.words}"
        )
    return condition._replace(negated=not condition.negated)


def each(ev: Interpreter, frame: Frame, value: Union, work: Callable[[Value], Value]) -> Value:
    """Do `work` for every alternative of a value; only what all nominal ones do is certain."""
    options = value.alternatives
    nominal = [option for option, condition in options if condition is None]
    results: list[tuple[Value, Condition | None]] = []
    arms = Arms(ev, frame)
    for option, condition in options:
        on_path = condition is None
        given = condition
        if on_path and len(nominal) > 1:
            given = Condition(
                words=f"{TAKING} {describe(option)} at line {frame.line} of {frame.module.name}"
            )
        collected: list[Value] = []

        def follow(option: Value = option, collected: list[Value] = collected) -> int:
            collected.append(work(option))
            return FALLS

        presumes = ""
        if on_path and len(nominal) == 1:
            presumes = next((c.presumes for _, c in options if c is not None and c.presumes), "")
        arms.follow(follow, given, on_path or not nominal, presumes)
        for result in collected:
            for single, inner in alternatives(result):
                results.append((single, inner or condition))
    arms.leave()
    found: dict[Value, Condition | None] = {}
    for single, condition in results:
        if single not in found or condition is None:
            found[single] = condition
    if not found:
        raise Raised("other")
    if len(found) == 1 and next(iter(found.values())) is None:
        return next(iter(found))
    return union(
        [Union(((single, condition),)) if condition else single for single, condition in found.items()]
    )


def describe(value: Value) -> str:
    """A value in words, for a condition."""
    if isinstance(value, Const):
        return repr(value.value)
    if isinstance(value, (Function, ClassRef, ModuleRef, External)):
        return value.name
    if isinstance(value, Instance):
        return f"a {value.cls.name}"
    return "something else"
