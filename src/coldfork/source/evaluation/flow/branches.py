"""Follows several paths from one point, each with its own variables and certainty, and then joins them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.trace import Failure
from coldfork.source.values.conditions import (
    Condition,
    Conditions,
    all_of,
    any_of,
    either,
    negated,
    presumed_together,
    presumptions,
    together,
)
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
from coldfork.source.values.unions import alternatives, needing, under, union

#: The beginning of a condition that merely says which of several values was taken.
TAKING = "the value is"
FALLS, RETURNS, RAISES, BREAKS, CONTINUES = range(5)


class Branch(NamedTuple):
    """How one path ended, and the state there."""

    condition: Condition | None
    nominal: bool
    ended: int
    must: set[str]
    names: dict[str, Value] | None
    extra: Conditions
    off: Condition | None
    sites: tuple[int, int]
    raised: str = ""


class Branches:
    """The paths that start from one point of a frame."""

    def __init__(self, ev: Interpreter, frame: Frame) -> None:
        self.ev = ev
        self.frame = frame
        self.conditions: Conditions = frame.conditions
        self.presumed: tuple[str, ...] = frame.presumed
        self.must: set[str] = frame.must
        self.off: Condition | None = frame.off
        self.names: dict[str, Value] | None = frame.env.names if frame.env is not None else None
        self.done: list[Branch] = []
        self._any_nominal = False
        self.siblings = True
        """False if one path may run after part of another, like the handlers of a `try`."""

    def follow(
        self,
        work: Callable[[], int],
        condition: Condition | None,
        nominal: bool,
        presumes: tuple[str, ...] = (),
        narrowed: dict[str, Value] | None = None,
    ) -> None:
        """Follow one path, which is taken under `condition`; if it is off the nominal path, none of its
        effects are certain.
        """
        frame = self.frame
        nominal = nominal or not self.ev.presumes
        self.ev.budget.left -= 2
        frame.must = set(self.must)
        frame.conditions = self.conditions if condition is None else (*self.conditions, condition)
        frame.presumed = presumed_together(self.presumed, presumes)
        frame.off = self.off if nominal else all_of(self.off, condition)
        if frame.env is not None and self.names is not None:
            frame.env.names = {**self.names, **narrowed} if narrowed else dict(self.names)
        first = len(frame.sites)
        base = len(frame.conditions)
        raised = ""
        # If an earlier path wrote to the same object, both values are kept: neither replaces the other.
        joining = nominal and self._any_nominal
        self.ev.joining += joining
        try:
            ended = work()
        except Raised as problem:
            ended, raised = RAISES, problem.kind
            if nominal:
                frame.raise_musts.append(set(frame.must))
                if condition is not None:
                    self.ev.record_failure(Failure(condition, True, raised, frozenset(frame.must)))
        finally:
            self.ev.joining -= joining
        self._any_nominal = self._any_nominal or nominal
        names = frame.env.names if frame.env is not None else None
        held, sites = frame.conditions[base:], (first, len(frame.sites))
        self.done.append(Branch(condition, nominal, ended, frame.must, names, held, frame.off, sites, raised))

    def pass_by(
        self,
        condition: Condition | None,
        nominal: bool,
        narrowed: dict[str, Value] | None = None,
        presumes: tuple[str, ...] = (),
    ) -> None:
        """Follow a path that runs no code, such as the missing `else` of an `if`: everything
        stays as it was.
        """
        nominal = nominal or not self.ev.presumes
        self.ev.budget.left -= 2
        self._any_nominal = self._any_nominal or nominal
        names = {**self.names, **narrowed} if narrowed and self.names is not None else self.names
        off = self.off if nominal else all_of(self.off, condition)
        first = len(self.frame.sites)
        self.done.append(Branch(condition, nominal, FALLS, self.must, names, (), off, (first, first)))

    def join(self) -> int:
        """Join the paths; return how they ended together."""
        frame = self.frame
        frame.conditions, frame.presumed, frame.off = self.conditions, self.presumed, self.off
        nominal = [branch for branch in self.done if branch.nominal]
        falling = [branch for branch in nominal if branch.ended == FALLS]
        others = [branch for branch in self.done if not branch.nominal and branch.ended == FALLS]
        if not falling:
            frame.must = set.intersection(*[branch.must for branch in nominal]) if nominal else set(self.must)
            if not others:
                self._restore(nominal or self.done)
                return max((branch.ended for branch in nominal), default=FALLS)
            # The code after the join runs only if no nominal path ended here.
            needed = either([_needs(branch) for branch in others])
            frame.off = all_of(self.off, *needed)
            frame.conditions = (*self.conditions, *needed)
            frame.must = set(self.must)
            self._restore(others)
            return FALLS
        frame.must = set.intersection(*[branch.must for branch in falling])
        if self.siblings and frame.toplevel and not self.conditions:
            self._promote(nominal, frame.must - self.must)
        self._restore([*falling, *others])
        for branch in self.done:
            exits = branch.ended == RAISES and branch.raised == "SystemExit"
            if branch.nominal and branch.condition is not None and exits and frame.tries == 0:
                frame.stays += (negated(branch.condition),)
                frame.exit_musts.append(branch.must)
            elif not branch.nominal and branch.ended != FALLS:
                frame.presumed = presumed_together(frame.presumed, presumptions(branch.condition))
        extra = self._needed_behind(falling, others)
        if extra:
            frame.conditions = (*frame.conditions, *[c for c in extra if c not in frame.conditions])
        return FALLS

    def _needed_behind(self, falling: list[Branch], others: list[Branch]) -> Conditions:
        """Return the conditions under which the code after the join runs: no path that ends here was
        taken.
        """
        left = [
            branch.condition
            for branch in self.done
            if branch.nominal and branch.condition is not None and self._leaves(branch)
        ]
        if not any(branch.extra for branch in falling):
            if left and others:
                return either([tuple(map(negated, left)), *map(_needs, others)])
            return tuple(map(negated, left))
        needed = either([_needs(branch) for branch in (*falling, *others)])
        return needed if len(falling) > 1 else together((*map(negated, left), *needed))

    def _leaves(self, branch: Branch) -> bool:
        """Return whether a path ends here, so that it does not reach the code after the join."""
        if branch.ended == RAISES:
            return self.frame.tries > 0 or branch.raised == "SystemExit"
        return branch.ended != FALLS

    def leave(self) -> int:
        """Join the paths and return how they ended; raise an error if they all end in an exception."""
        ended = self.join()
        if ended == RAISES:
            raise Raised(self.raised)
        return ended

    @property
    def raised(self) -> str:
        """Return the name of the exception that the paths end in."""
        return next((branch.raised for branch in self.done if branch.raised), "other")

    def _promote(self, branches: list[Branch], sure: set[str]) -> None:
        """Mark wakes as certain if every sibling path wakes the same device."""
        if not sure:
            return
        sites = self.frame.sites
        promoted: list[int] = []
        for branch in branches:
            for index in range(*branch.sites):
                site = sites[index]
                wake = site.wake
                if (
                    wake.surety in sure
                    and site.sure
                    and len(wake.conditions) <= 1
                    and branch.ended == FALLS
                    and not wake.possible
                    and (not wake.conditions or wake.conditions[0] == branch.condition)
                ):
                    promoted.append(index)
        # The promoted wake is certain because all paths wake the device, so it has the presumptions of all of
        # them.
        wakes = [site.wake for branch in branches for site in sites[slice(*branch.sites)] if site.sure]
        held = [wake for wake in wakes if not wake.off and not sure.isdisjoint(wake.makes_sure)]
        presumed = dict.fromkeys(one for wake in held for one in wake.presumed)
        for index in promoted:
            wake = sites[index].wake._replace(conditions=(), presumed=tuple(presumed))
            sites[index] = sites[index]._replace(certain=True, wake=wake)

    def _restore(self, branches: list[Branch]) -> None:
        """Restore the variables after the join: each may have its value from any of the joined paths."""
        env = self.frame.env
        if env is None:
            return
        every = [branch for branch in branches if branch.names is not None]
        if not every:
            return
        if len(every) == 1:
            env.names = every[0].names or {}
            if not every[0].nominal and self.names is not None:
                env.names = {**self.names, **env.names}
            return
        every.sort(key=lambda branch: not branch.nominal)
        merged = self._merged(every)
        for name in self.frame.globals:
            # On a path that did not rebind a global, the global keeps its value in the module.
            if name in merged and any(
                branch.names is not None and name not in branch.names for branch in every
            ):
                held = self.ev.global_value(self.frame, name)
                merged[name] = union((held, merged[name]))
        env.names = merged

    def _merged(self, every: list[Branch]) -> dict[str, Value]:
        """Return the values that variables may have after several paths, the nominal ones first."""
        first = every[0]
        before = self.names or {}
        merged: dict[str, Value] = dict(first.names or {}) if first.nominal else {}
        merged = _said(merged, before, first)
        for branch in every[1:] if first.nominal else every:
            assert branch.names is not None
            for name, value in _said(branch.names, before, branch).items():
                known = merged.get(name)
                if known is value:
                    continue  # true of nearly all variables, because a path changes few
                if known is None:
                    merged[name] = value if branch.nominal else under(value, branch.condition)
                elif known != value:
                    merged[name] = union((known, value), None if branch.nominal else branch.condition)
        return merged


def _said(names: dict[str, Value], before: dict[str, Value], branch: Branch) -> dict[str, Value]:
    """Return the variables after a nominal path; alternatives that are off the nominal path get its
    condition.
    """
    if not branch.nominal or branch.condition is None:
        return names
    changed = {
        name: needing(value, branch.condition)
        for name, value in names.items()
        if type(value) is Union and value is not before.get(name)
    }
    return {**names, **changed} if changed else names


def _needs(branch: Branch) -> Conditions:
    """Return the conditions under which a path is followed to its end."""
    return branch.extra if branch.condition is None else together((branch.condition, *branch.extra))


def for_each_alternative(
    ev: Interpreter, frame: Frame, value: Union, work: Callable[[Value], Value]
) -> Value:
    """Do `work` for every alternative of a value; an effect is certain only if all nominal alternatives have
    it.
    """
    options = value.alternatives
    nominal = [option for option, condition in options if condition is None]
    results: list[tuple[Value, Condition | None]] = []
    branches = Branches(ev, frame)
    for option, condition in options:
        on_path = condition is None
        given = condition
        if on_path and len(nominal) > 1:
            place = f"at line {frame.line} of {frame.module.name}"
            given = Condition(words=f"{TAKING} {describe(option)} {place}")
        collected: list[Value] = []

        def follow(option: Value = option, collected: list[Value] = collected) -> int:
            collected.append(work(option))
            return FALLS

        presumes: tuple[str, ...] = ()
        if on_path and len(nominal) == 1:
            presumes = presumptions(any_of(*[c for _, c in options if c is not None]))
        branches.follow(follow, given, on_path or not nominal, presumes)
        for result in collected:
            for single, inner in alternatives(result):
                results.append((single, all_of(condition, inner)))
    branches.leave()
    if not results:
        raise Raised("other")
    return union([under(single, condition) for single, condition in results])


def describe(value: Value) -> str:
    """Return a value in words, for use in a condition."""
    if isinstance(value, Const):
        return repr(value.value)
    if isinstance(value, (Function, ClassRef, ModuleRef, External)):
        return value.name
    if isinstance(value, Instance):
        return f"a {value.cls.name}"
    return "something else"
