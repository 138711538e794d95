"""An ignore comment suppresses no finding.

## What it does

Reports a `# coldfork: ignore[rule] reason` comment on a statement where the rule finds nothing, and
one that names a rule that does not exist, or no longer does.

## Why is this bad

A comment that suppresses nothing today will suppress the next finding on that line before anyone has seen it.
One that names an unknown rule never did anything.

## Example

```python
NUM_GPUS = 8  # coldfork: ignore[device-query-at-import] counted once, in the launcher
```

Users see no traceback here. They see one later, from the problem that the stale comment hid.

## Use instead

```python
NUM_GPUS = 8
```

## Fix safety

Removing the comment is always safe: at worst the finding that it suppressed is listed again.

## How it is seen

- **Static**: `coldfork check` compares comments with findings. A comment for a rule that did not run
  (`--rules`, `--ignore`) is not reported. The result holds for the assumed machine: where the same
  sources are checked under several profiles and only one of them needs the comment, write
  `ignore[rule, unused-ignore]`.
- **Runtime**: nothing to see.

## References

- `coldfork rule` lists the names that a comment can use.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import Verdict
from coldfork.model.findings import Finding, Severity
from coldfork.model.observations import IgnoreComment
from coldfork.rules import registry
from coldfork.rules.findings import drafting
from coldfork.rules.findings.drafting import Case

NAME = "unused-ignore"
SEVERITY = Severity.WARNING


def judge(case: Case) -> Iterator[Finding]:
    """Report each comment that, according to the registry, suppressed no finding."""
    profile = case.observation.profile
    for comment in case.idle_ignores:
        if not comment.rules:
            yield _draft(
                comment,
                f"this ignore comment suppresses nothing under the profile {profile}",
                "remove the comment",
            )
        for name in comment.rules:
            if name in registry.NAMES:
                message = f"there is no finding of {name} to ignore here under the profile {profile}"
                yield _draft(comment, message, f"remove {name} from the comment")
            elif name in registry.REMOVED:
                yield _draft(comment, f"the rule {name!r} was removed", f"remove {name} from the comment")
            else:
                yield _draft(comment, f"there is no rule {name!r} to ignore", _right_name(name))


def _right_name(name: str) -> str:
    match = registry.near_match(name, registry.NAMES)
    return f"write {match}, if that is what you meant" if match else "`coldfork rule` lists the names"


def _draft(comment: IgnoreComment, message: str, remedy: str) -> Finding:
    named = f"[{', '.join(comment.rules)}]" if comment.rules else ""
    return drafting.on_file(
        comment.path,
        comment.line,
        comment.column,
        rule=NAME,
        verdict=Verdict.CERTAIN,
        message=message,
        consequence="a comment that suppresses nothing today hides the next finding on its line",
        remedy=remedy,
        text=f"# coldfork: ignore{named} {comment.reason}".rstrip(),
    )
