"""Names findings so that they are recognised again after lines have moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b

from coldfork.model.findings import Finding


def identify(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Give each finding its id and sort them by place; equal ones differ by their order."""
    seen: Counter[str] = Counter()
    named = []
    for finding in sorted(findings, key=place):
        essence = _essence(finding)
        named.append(replace(finding, id=digest(essence, seen[essence])))
        seen[essence] += 1
    return tuple(named)


def place(finding: Finding) -> tuple[str, int, int, str]:
    """The order in which findings are listed."""
    return finding.path, finding.line, finding.column, finding.rule


def _essence(finding: Finding) -> str:
    # No line and no column; blanks of the source text are folded, so that re-indenting changes nothing.
    site = " ".join(finding.text.split())
    return "\0".join((finding.rule, finding.module, *finding.chain.symbols, site))


def digest(essence: str, ordinal: int) -> str:
    """The id of what has this essence; `ordinal` tells equal ones apart."""
    material = f"{essence}\0{ordinal}".encode(errors="surrogatepass")
    return blake2b(material, digest_size=10).hexdigest()
