"""The start method is set when one is already in use.

## What it does

Reports `set_start_method` without `force=True` after something that has put a start method to use: an earlier
`set_start_method`, `get_start_method()` or `get_context()` without an argument, a queue, a lock, a pool or a
started process of the default context, a `DataLoader` that was iterated, a progress bar that makes such a
lock.

## Why is this bad

Python raises an error. If a `try` swallows it, the method stays the same, and the workers start in the way
that the line was meant to prevent: for example, forked after a device was woken.

## Example

```python
if __name__ == "__main__":
    results = multiprocessing.Queue()
    multiprocessing.set_start_method("spawn")
```

What users see:

```text
RuntimeError: context has already been set
```

## Use instead

Set it first, or use a context, which needs no such call:

```python
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
```

`multiprocessing.get_start_method(allow_none=True)` asks without putting anything to use.

## Fix safety

`coldfork check --fix=unsafe` moves the line above the one that puts a method to use, if both stand in the
same block. Objects made in between then use the new method.

## How it is seen

- **Static**: `coldfork check` follows programs in the order of their statements, into the functions of
  installed packages, too. An error that a `try` handles is reported only if the wanted method is a different
  one. `VLLM_WORKER_MULTIPROC_METHOD` is read when the engine starts, so setting it after the import of vLLM
  is in time, and not reported.
- **Runtime**: Python raises the error.

## References

- CPython, `set_start_method`:
  <https://docs.python.org/3/library/multiprocessing.html#multiprocessing.set_start_method>
- PyTorch issue 3492, `get_start_method` puts the default to use:
  <https://github.com/pytorch/pytorch/issues/3492>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldfork.model.effects import Obstacle
from coldfork.model.findings import Finding, Severity, Way
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "start-method-too-late"
SEVERITY = Severity.ERROR

_REMEDY = "set it before anything else of multiprocessing is used, or use a context: get_context({!r})"


def judge(case: Case) -> Iterator[Finding]:
    """Report each line that sets a start method after one has been used."""
    for effect, start, met in case.hindered(Obstacle.METHOD_IN_USE):
        if start.handled and start.method == met.words:
            continue  # this line sets the intended method
        verdict = drafting.surety(effect)
        consequence = "Python raises RuntimeError: context has already been set"
        if start.handled:
            consequence = f"the error is swallowed, and the start method stays {met.words}"
        finding = drafting.on_start(
            effect,
            rule=NAME,
            message=(
                f"{wording.doer(effect)} {wording.verb(verdict, 'sets', 'set')} the start method to "
                f"{start.method} when {met.words} is already in use"
            ),
            consequence=consequence,
            remedy=_REMEDY.format(start.method),
            verdict=verdict,
        )
        yield replace(finding, ways=(Way("before", "put to use before, at", met.chain),))
