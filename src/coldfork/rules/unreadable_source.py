"""A file could not be analysed, so the effect of importing it is unknown.

## What it does

Reports a file of the checked code that cannot be read as Python source: a syntax error, Python 2 source, a
wrong encoding, NUL bytes, a dangling link, missing permission, more than 8 MB, or syntax newer than the
Python that runs coldfork. The message says which, and names the Python version that can read the file, if
there is one. A file that is too large, or nested too deeply, is not reported if it contains only literals and
names for them: importing it wakes nothing.

## Why is this bad

What such a file does on import is unknown, and coldfork does not call unknown code cold. If Python
cannot read the file either, importing it fails.

## Example

```python
print "importing"  # Python 2
```

What users see, when the file is imported:

```text
SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?
```

## Use instead

```python
print("importing")
```

Files that are not Python source in spite of their name, such as templates and test data, and large
generated files that touch no device belong in `exclude` in `[tool.coldfork]`.

## Fix safety

coldfork offers no automatic fix for this rule.

## How it is seen

- **Static**: `coldfork check` lists the file as a finding and under `skipped` in its JSON, and analyses all
  the others. A file that does not parse fails the check, even if the error is in a function that nothing
  calls: Python could not import it either, and its effects are unknown. One that is too large to be read, or
  behind a broken link, is `possible` and fails with `--fail-on possible`. Unreadable files of dependencies
  are listed only under `skipped`.
- **Runtime**: importing the file raises the error.

## References

- Python, the grammar:
  <https://docs.python.org/3/reference/grammar.html>
- PEP 263, source encodings:
  <https://peps.python.org/pep-0263/>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import Verdict
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting
from coldfork.rules.findings.drafting import Case

NAME = "unreadable-source"
SEVERITY = Severity.ERROR

_REMEDY = "fix the file, or list it under `exclude` in [tool.coldfork] if it is not source code"
_TOO_LARGE = (
    "list the file under `exclude` in [tool.coldfork] if nothing in it can wake a device; a table of "
    "plain literals needs no entry there"
)


def judge(case: Case) -> Iterator[Finding]:
    """Report each unreadable file of the checked code; users cannot fix those of dependencies."""
    for unreadable in case.observation.unreadable:
        if not unreadable.own:
            continue
        blanks = len(unreadable.text) - len(unreadable.text.lstrip())
        yield drafting.on_file(
            unreadable.path,
            unreadable.line,
            unreadable.column,
            rule=NAME,
            severity=Severity.ERROR if unreadable.invalid else Severity.WARNING,
            verdict=Verdict.CERTAIN if unreadable.invalid else Verdict.POSSIBLE,
            message=f"this file could not be analysed: {unreadable.reason}",
            consequence="what importing it does is unknown",
            remedy=_TOO_LARGE if unreadable.too_large else _REMEDY,
            text=unreadable.text.strip(),
            caret=max(0, unreadable.column - blanks) if unreadable.text.strip() else None,
        )
