"""Makes the answer to a request if none can be recalled: all that follows code is imported here."""

from __future__ import annotations

from coldfork.model.effects import Effect
from coldfork.model.observations import Faults, IgnoreComment, Progress, Unreadable
from coldfork.source.files.discovery import Found
from coldfork.source.program.program import Program
from coldfork.source.reach.answers import Answer
from coldfork.source.reach.importers import affected as affected_modules
from coldfork.source.reach.quotations import Quotations
from coldfork.source.reach.remarks import Remarks
from coldfork.source.reach.reporter import Reporter
from coldfork.source.reach.results import Results
from coldfork.source.reach.selection import programs
from coldfork.source.request import Request


def answered(
    request: Request,
    found: Found,
    search: tuple[str, ...],
    program: Program,
    results: Results,
    progress: Progress | None,
    faults: Faults,
) -> Answer:
    """Follow the modules of a request as far as they have no results yet, and return the answer."""
    results.evaluate(list(request.entries or request.roots or found.files), progress, found.files)
    if request.programs and not request.entries:  # only the imports of entries are analysed
        asked, again = request.roots or found.files, bool(request.roots)
        faults.attempt(lambda: results.evaluate_programs(programs(program, asked, again), progress), None)
    quotations = Quotations(program, found.display)
    reporter = Reporter(program, results, found, request.entries, quotations, faults)
    remarks = Remarks(program, results, found, quotations)
    affected = None
    if (changed := request.changed) is not None:
        roots, files = (*found.roots, *search), found.files
        names = faults.attempt(lambda: affected_modules(results, roots, files, changed), set(files))
        affected = tuple(sorted(map(quotations.path_of, names)))
    effects: tuple[Effect, ...] = faults.attempt(reporter.effects, ())
    # findings that hold for any machine were already reported by the analysis of all modules
    if request.roots:
        return Answer(
            effects,
            (),
            (),
            len(results.by_name),
            checked=reporter.modules(effects) if effects else (),
            imports=reporter.imports(effects),
            unset=results.unset,
            unfinished=remarks.unfinished(),
        )
    checked, imports = reporter.modules(effects), reporter.imports(effects)
    unreadable: tuple[Unreadable, ...] = faults.attempt(remarks.unreadable, ())
    ignores: tuple[IgnoreComment, ...] = faults.attempt(remarks.ignores, ())
    absent: tuple[str, ...] = faults.attempt(remarks.absent, ())
    leading = reporter.leading_to(request.towards.names() if request.towards else frozenset())
    return Answer(
        effects,
        unreadable,
        ignores,
        len(results.by_name),
        absent,
        affected,
        checked,
        imports,
        results.unset,
        remarks.unfinished(),
        leading,
        reporter.unfollowed(),
    )
