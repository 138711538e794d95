"""The end of a report: which environment was read, and how the check was limited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.model.observations import ChangeScope, EnvironmentRead, LeftOut, Origin
from coldfork.model.terms.grades import Applicability
from coldfork.report.shared.characters import one_line
from coldfork.report.shared.quantities import plural

if TYPE_CHECKING:
    from coldfork.model.findings import Report

_MOST_ABSENT = 5
_MOST_LEFT_OUT = 3
_ORIGINS = {
    Origin.NAMED: "",
    Origin.ACTIVE: ", the active environment",
    Origin.NEIGHBOUR: ", the environment beside the code",
    Origin.OWN: ", coldfork's own environment",
}


def closing_sentences(report: Report) -> tuple[str, ...]:
    """Return the sentences about the check as a whole, which come after all findings."""
    sentences = (
        left_out_sentence(report.coverage.left_out),
        scope_sentence(report.scope),
        environment_sentence(report.environment),
        fixes_sentence(report),
        proof_sentence(report),
    )
    return tuple(sentence for sentence in sentences if sentence)


def fixes_sentence(report: Report) -> str:
    """Return a sentence about how many of the remaining causes only `--fix=unsafe` would mend; empty
    if none.
    """
    # A refusal has no applicability.
    fixes = report.fixes.values()
    waiting = [fix for fix in fixes if getattr(fix, "applicability", None) is Applicability.UNSAFE]
    if not waiting:
        return ""
    return f"fixes: {len(waiting)} more with --fix=unsafe, which may change what the program does"


def proof_sentence(report: Report) -> str:
    """Return a sentence about the result of `--prove`; empty if that was not requested."""
    if report.proof is None:
        return ""
    from coldfork.report.proof import proof_head

    return f"proof: {proof_head(report.proof)}"


def left_out_sentence(left_out: tuple[LeftOut, ...]) -> str:
    """Return a sentence about files below the checked paths that were skipped; empty if none were."""
    if not left_out:
        return ""
    named = [
        f"{one_line(one.path)} ({one.reason or plural(one.files, 'Python file')})"
        for one in left_out[:_MOST_LEFT_OUT]
    ]
    more = f" and {len(left_out) - len(named)} more" if len(left_out) > len(named) else ""
    return f"not looked at: {', '.join(named)}{more}"


def environment_sentence(environment: EnvironmentRead | None) -> str:
    """Return a sentence about where packages were read and which were missing; empty if the code
    needs none.
    """
    if environment is None:
        return ""
    absent = _listed(environment.absent)
    if environment.read and environment.folder is not None:
        found = f"; imported but not found there: {absent}" if absent else ""
        where = f"{one_line(environment.folder)}{_ORIGINS[environment.origin]}"
        return f"packages: read from {where}{found}{_unset(environment.unset)}"
    if not absent:
        return ""
    why = " (and not looked for in coldfork's own environment)" if environment.folder is not None else ""
    return f"packages: not read{why}: {absent}; name their environment with --python PATH"


def _unset(unset: tuple[tuple[str, str], ...]) -> str:
    """Return a phrase about imports that were skipped because they need a variable that is usually
    not set.
    """
    if not unset:
        return ""
    packages, variables = _listed(_packages(unset)), _listed(_variables(unset))
    return f"; not followed: imports of {packages} that need {variables} set"


def _packages(unset: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(package for package, _ in unset))


def _variables(unset: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(variable for _, variable in unset))


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_ABSENT
    listed = ", ".join(one_line(name) for name in names[:_MOST_ABSENT])
    return f"{listed} and {more} more" if more > 0 else listed


def scope_sentence(scope: ChangeScope | None) -> str:
    """Return a sentence about how `--changed-since` limited the check; empty without that option."""
    if scope is None:
        return ""
    since = f"changed since {one_line(scope.since)}"
    if scope.everything:
        return f"{one_line(scope.everything)} {since}, which affects every module"
    if not scope.files:
        return f"no Python file {since}" + _left_out(scope)
    changed = f"{plural(len(scope.files), 'Python file')} {since}"
    return f"{changed}, which can affect {scope.affected} of {scope.modules} modules{_left_out(scope)}"


def _left_out(scope: ChangeScope) -> str:
    """Return a phrase about how many findings were omitted because no change can affect their modules."""
    return f"; {plural(scope.left_out, 'finding')} in the others left out" if scope.left_out else ""
