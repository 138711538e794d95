"""A process gets a queue or a lock that was made for another start method.

## What it does

Reports a line that starts a process by `spawn` or `forkserver` and passes it a queue, a lock, an event or the
like made by a `fork` context: as an argument, or in an attribute of the object whose method it runs. The
default context is a `fork` context up to Python 3.13 on Linux, so `multiprocessing.Queue()` together with a
`spawn` context is such a pair.

## Why is this bad

The lock inside has no name by which a fresh process could open it. Python refuses to send it.

## Example

```python
context = multiprocessing.get_context("spawn")
results = multiprocessing.Queue()
context.Process(target=work, args=(results,)).start()
```

What users see:

```text
RuntimeError: A SemLock created in a fork context is being shared with a process in a spawn context.
```

## Use instead

```python
context = multiprocessing.get_context("spawn")
results = context.Queue()
context.Process(target=work, args=(results,)).start()
```

## Fix safety

`coldfork check --fix=unsafe` makes the queues and locks of the function from a context of the method that the
file names. It is unsafe because forked processes may share them, too.

## How it is seen

- **Static**: `coldfork check` follows contexts and the objects they make. The reverse, a queue of `spawn` for
  a forked process, works and is not reported (measured with Python 3.11 to 3.13), nor are pipes and raw
  values, which hold no lock.
- **Runtime**: Python raises the error.

## References

- CPython, contexts and start methods:
  <https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods>
- CPython issue 77377, which made the error understandable: <https://github.com/python/cpython/issues/77377>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import Obstacle
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "mixed-contexts"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each fresh process that is passed an object made for forked processes."""
    for effect, _, met in case.hindered(Obstacle.OTHER_CONTEXT):
        verdict = drafting.surety(effect)
        yield drafting.on_start(
            effect,
            rule=NAME,
            message=(
                f"a fresh process {wording.verb(verdict, 'gets', 'get')} {_one(met.words)} "
                "that was made for forked ones"
            ),
            consequence="Python raises an error here: its lock cannot be sent",
            remedy=f"make it from the context that starts the process: context.{met.words}(...)",
            verdict=verdict,
        )


def _one(kind: str) -> str:
    return f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"
