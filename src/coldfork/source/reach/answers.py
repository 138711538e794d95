"""The answer of an analysis, and its conversion to plain values, in which it is cached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from coldfork.model.observations import IgnoreComment, Unfinished, Unreadable
from coldfork.model.terms.grades import Audience
from coldfork.model.terms.modules import CheckedModule, Import
from coldfork.source.files.packs import fields_of

if TYPE_CHECKING:
    from coldfork.model.effects import Effect


class Answer(NamedTuple):
    """The result of an analysis."""

    effects: tuple[Effect, ...]
    unreadable: tuple[Unreadable, ...]
    ignores: tuple[IgnoreComment, ...]
    modules: int
    absent: tuple[str, ...] = ()
    """Packages that the checked code imports unconditionally, and that were not found."""
    affected: tuple[str, ...] | None = None
    """The paths of the checked modules that the changes can affect; None if that was not asked."""
    checked: tuple[CheckedModule, ...] = ()
    imports: tuple[Import, ...] = ()
    unset: tuple[tuple[str, str], ...] = ()
    """Packages, with the environment variables without which some of their imports were not followed."""
    unfinished: tuple[Unfinished, ...] = ()
    leading: tuple[str, ...] = ()
    """The checked modules whose import can lead to the import of a requested package."""
    unfollowed: int = 0
    """The number of lines in the checked code that call, during import, code that cannot be followed."""


def encode_answer(answer: Answer) -> Any:
    """Return an answer as nested tuples of plain values."""
    from coldfork.source.reach.plain_effects import plain_effect

    return (
        [plain_effect(effect) for effect in answer.effects],
        [fields_of(one) for one in answer.unreadable],
        [fields_of(one) for one in answer.ignores],
        answer.modules,
        answer.absent,
        answer.affected,
        [(m.name, m.path, str(m.audience), m.imported, m.file) for m in answer.checked],
        [tuple(one) for one in answer.imports],
        answer.unset,
        [fields_of(one) for one in answer.unfinished],
        answer.leading,
        answer.unfollowed,
    )


def decode_answer(data: Any) -> Answer:
    """Return the answer from the tuples made by `encode_answer`."""
    effects, unreadable, ignores, modules, absent, affected, checked, imports, unset, *rest = data
    unfinished, leading, unfollowed = rest
    return Answer(
        _to_effects(effects),
        tuple([Unreadable(*each) for each in unreadable]),
        tuple([IgnoreComment(*each) for each in ignores]),
        modules,
        absent,
        affected,
        tuple([
            CheckedModule(name, path, Audience(audience), is_imported, file)
            for name, path, audience, is_imported, file in checked
        ]),
        tuple([Import(*one) for one in imports]),
        unset,
        tuple([Unfinished(*each) for each in unfinished]),
        leading,
        unfollowed,
    )  # fmt: skip


def _to_effects(data: Any) -> tuple[Effect, ...]:
    if not data:
        return ()
    from coldfork.source.reach.plain_effects import to_effect  # most answers have none

    return tuple([to_effect(effect) for effect in data])
