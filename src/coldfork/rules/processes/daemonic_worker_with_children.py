"""A daemonic process starts processes itself.

## What it does

Reports a line that starts a daemonic process whose target starts processes by `multiprocessing`: a `Process`
with `daemon=True`, the workers of a `Pool` and those of a `DataLoader`, which are always daemons.

## Why is this bad

Python does not let a daemon have children, because nothing would end them. The child fails at the first one
that it tries to start: often inside a library whose `DataLoader` has workers or whose executor starts some.

## Example

```python
def train(path):
    for batch in DataLoader(Rows(path), num_workers=4):
        step(batch)


def main():
    multiprocessing.Process(target=train, args=("rows",), daemon=True).start()
```

What users see, in the child:

```text
AssertionError: daemonic processes are not allowed to have children
```

## Use instead

```python
def main():
    worker = multiprocessing.Process(target=train, args=("rows",))
    worker.start()
    worker.join()
```

The workers of `concurrent.futures.ProcessPoolExecutor` are not daemons and may start processes.

## Fix safety

The process without its flag is shown, and not written: one that is not a daemon has to be ended explicitly.

## How it is seen

- **Static**: `coldfork check` follows the code that the child runs. Code that is not in the source, such as a
  user's code in marimo's kernel, is not seen.
- **Runtime**: Python raises the error.

## References

- CPython, `Process.daemon`:
  <https://docs.python.org/3/library/multiprocessing.html#multiprocessing.Process.daemon>
- marimo pull request 487, a kernel that was a daemon:
  <https://github.com/marimo-team/marimo/pull/487>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldfork.model.effects import Obstacle
from coldfork.model.findings import Finding, Severity, Way
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "daemonic-worker-with-children"
SEVERITY = Severity.ERROR

_REMEDY = (
    "start it without daemon=True and end it yourself, or use concurrent.futures.ProcessPoolExecutor, "
    "whose workers may start processes"
)


def judge(case: Case) -> Iterator[Finding]:
    """Report each start of a daemonic process that would itself start processes."""
    for effect, start, met in case.hindered(Obstacle.DAEMONIC):
        verdict = drafting.surety(effect)
        finding = drafting.on_start(
            effect,
            rule=NAME,
            message=(
                f"{start.target or 'a process'} runs in a daemon, and "
                f"{wording.verb(verdict, 'starts', 'start')} processes"
            ),
            consequence="the child fails there: daemonic processes are not allowed to have children",
            remedy=_REMEDY,
            verdict=verdict,
        )
        yield replace(finding, ways=(Way("child", "processes are started in the child, at", met.chain),))
