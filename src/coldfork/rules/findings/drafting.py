"""Makes findings from effects: the input of a rule, the draft, and an id that remains when lines move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from coldfork.model.effects import Ahead, Arrival, Chain, Effect, Hindrance, Obstacle, ProcessStart, Verdict
from coldfork.model.findings import Finding, Severity, Way
from coldfork.model.observations import IgnoreComment, Observation
from coldfork.rules.findings import wording


@dataclass(frozen=True, slots=True)
class Case:
    """The observation that a rule judges, with other information that rules need."""

    observation: Observation
    remedies: Mapping[str, str] = field(default_factory=dict)
    """The catalogue's remedies, as sentences, by the ids that effects may name."""
    idle_ignores: tuple[IgnoreComment, ...] = ()
    """Comments, reduced to the rules in them that suppressed nothing; set only for the last rule."""
    programs: frozenset[str] = frozenset()
    """The modules that are started and that nothing imports."""

    def is_program(self, effect: Effect) -> bool:
        """Return whether the effect occurs in a program that is run rather than imported."""
        return effect.module in self.programs

    def hindered(self, obstacle: Obstacle) -> Iterator[tuple[Effect, ProcessStart, Hindrance]]:
        """Yield the effects of starting a process that an obstacle of this kind hinders."""
        for effect in self.observation.effects:
            start = effect.start
            if start is not None and start.hindrance is not None and start.hindrance.obstacle is obstacle:
                yield effect, start, start.hindrance

    def remedy(self, remedy_id: str | None) -> str | None:
        """Return the remedy that an effect refers to by id, as a sentence; None if there is none."""
        return self.remedies.get(remedy_id) if remedy_id else None


def identify(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings by place and give each an id, with a number if several would otherwise be equal."""
    seen: Counter[str] = Counter()
    named = []
    for finding in sorted(findings, key=place):
        essence = _essence(finding)
        named.append(replace(finding, id=digest(essence, seen[essence])))
        seen[essence] += 1
    return tuple(named)


def place(finding: Finding) -> tuple[str, int, int, str]:
    """Return the sort key by which findings are listed."""
    return finding.path, finding.line, finding.column, finding.rule


def _essence(finding: Finding) -> str:
    # Without line and column, and with runs of blanks reduced to one, so that the id survives re-indenting.
    site = " ".join(finding.text.split())
    return "\0".join((finding.rule, finding.module, *finding.chain.symbols, site))


def digest(essence: str, ordinal: int) -> str:
    """Return an id for a finding's essential content; `ordinal` distinguishes findings that share this."""
    material = f"{essence}\0{ordinal}".encode(errors="surrogatepass")
    return blake2b(material, digest_size=10).hexdigest()


_BY_VERDICT = {
    Verdict.CERTAIN: Severity.ERROR,
    Verdict.CONDITIONAL: Severity.WARNING,
    Verdict.POSSIBLE: Severity.NOTE,
}
_ONE_STEP_LOWER = {
    Severity.ERROR: Severity.WARNING,
    Severity.WARNING: Severity.NOTE,
    Severity.NOTE: Severity.NOTE,
}


def severity(verdict: Verdict, test: bool) -> Severity:
    """Return the severity for a verdict; in tests it is one step lower, because only tests import them."""
    loudness = _BY_VERDICT[verdict]
    return _ONE_STEP_LOWER[loudness] if test else loudness


def on_effect(
    effect: Effect,
    *,
    rule: str,
    message: str,
    consequence: str,
    remedy: str,
    verdict: Verdict | None = None,
    condition: str | None = None,
) -> Finding:
    """Return a finding for an effect; `verdict` and `condition`, if given, replace those of the effect."""
    verdict = verdict or effect.verdict
    return Finding(
        id="",
        rule=rule,
        severity=severity(verdict, effect.test),
        verdict=verdict,
        condition=condition or effect.condition,
        presumed=effect.presumed,
        accelerator=effect.accelerator,
        effect=effect.kind.value,
        module=effect.module,
        path=effect.path,
        line=effect.line,
        column=effect.column,
        position=effect.position.value,
        test=effect.test,
        message=message,
        consequence=consequence,
        remedy=remedy,
        chain=effect.chain,
        text=effect.text,
        where=wording.where(effect),
        end_line=effect.end_line,
        turn=effect.turn,
        ahead=effect.ahead,
    )


def on_start(
    effect: Effect,
    *,
    rule: str,
    message: str,
    consequence: str,
    remedy: str,
    verdict: Verdict | None = None,
) -> Finding:
    """Return a finding for a line that starts processes, which has to be mended whatever the device is."""
    finding = on_effect(
        effect, rule=rule, message=message, consequence=consequence, remedy=remedy, verdict=verdict
    )
    start = effect.start
    return replace(
        finding,
        accelerator=None,
        condition=None if finding.verdict is Verdict.CERTAIN else finding.condition,
        where="" if start is None or start.tasks or not start.chosen else f"by {start.chosen}",
        program=None if start is None or start.arrival is Arrival.CALL else start.origin,
    )


def surety(effect: Effect) -> Verdict:
    """Return the verdict for a line about processes, which says how certainly the line is reached."""
    if effect.start is not None and effect.start.sure:
        return Verdict.CERTAIN
    return min(effect.verdict, Verdict.CONDITIONAL, key=lambda one: one.rank)


def ways(start: ProcessStart, accelerator: str) -> Iterator[Way]:
    """Yield the chains of a start: the program's way to it, the wake before it, and the use in the child."""
    if start.way.steps:
        yield Way("program", "the program comes here from", _without_sink(start.way))
    if start.before is not None:
        yield _way("before", "woken before, at", start.before, accelerator)
    if start.child is not None:
        yield _way("child", "used in the child, at", start.child, accelerator)


def _way(role: str, words: str, ahead: Ahead, accelerator: str) -> Way:
    return Way(role, words, ahead.chain, ahead.kind.value, accelerator)


def _without_sink(chain: Chain) -> Chain:
    return Chain(tuple(step for step in chain.steps if step.path is not None))


def on_file(
    path: str,
    line: int,
    column: int,
    *,
    rule: str,
    verdict: Verdict,
    message: str,
    consequence: str,
    remedy: str,
    text: str = "",
    severity: Severity = Severity.WARNING,
    caret: int | None = None,
) -> Finding:
    """Return a finding about a whole file; it has no chain because it concerns no device."""
    return Finding(
        id="",
        rule=rule,
        severity=severity,
        verdict=verdict,
        condition=None,
        presumed=(),
        accelerator=None,
        effect=None,
        module=wording.dotted(path),
        path=path,
        line=line,
        column=column,
        position=None,
        test=False,
        message=message,
        consequence=consequence,
        remedy=remedy,
        chain=Chain(()),
        text=text,
        caret=caret,
    )
