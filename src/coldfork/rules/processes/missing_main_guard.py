"""Importing a module starts processes that import it again.

## What it does

Reports a line that starts processes by `spawn` or `forkserver` while its module is imported, in the file that
is started or in one that it imports: the line is at module level, or in a function that is called there,
without an `if __name__ == "__main__"` around it.

## Why is this bad

A fresh process imports the file that was started, under another name, to find its target. Without the guard
it reaches the same line and would start a process itself. Python refuses that: the children end with an
error, and the program waits for them, or continues without them. This is the default on macOS and Windows,
and from Python 3.14 on everywhere.

## Example

```python
import multiprocessing


def work(i):
    return i * i


context = multiprocessing.get_context("spawn")
with context.Pool(2) as pool:
    print(pool.map(work, range(4)))
```

What users see:

```text
RuntimeError:
        An attempt has been made to start a new process before the
        current process has finished its bootstrapping phase.
```

## Use instead

```python
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        print(pool.map(work, range(4)))
```

In a library, start the processes when they are first needed, in a function.

## Fix safety

`coldfork check --fix=unsafe` puts the statement below a guard, with those that follow it up to the next
definition, if no function needs the names that they bind. Only the author knows whether other statements
belong there.

## How it is seen

- **Static**: `coldfork check` follows an import to the line. Only lines that every run reaches are reported,
  so all findings are `certain`: a test around one, such as `current_process().name == "MainProcess"` or
  `__name__ != "__mp_main__"`, may be a guard of another kind. Notebooks are left out.
- **Runtime**: Python raises the error. `coldfork check --confirm=run` runs the program, and looks for it.

## References

- CPython, the spawn and forkserver start methods:
  <https://docs.python.org/3/library/multiprocessing.html#the-spawn-and-forkserver-start-methods>
- vLLM Ascend pull request 1837, examples that start an engine at module level:
  <https://github.com/vllm-project/vllm-ascend/pull/1837>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import Effect, EffectKind, Verdict
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting
from coldfork.rules.findings.drafting import Case

NAME = "missing-main-guard"
SEVERITY = Severity.ERROR

_REMEDY = 'start it below `if __name__ == "__main__":`, or in a function that runs only when needed'


def judge(case: Case) -> Iterator[Finding]:
    """Report each start of processes during an import that makes the new process import the file again."""
    for effect in case.observation.effects:
        start = effect.start
        if start is None or not start.unguarded or not _begins_anew(effect):
            continue
        yield drafting.on_start(
            effect,
            rule=NAME,
            message=f"importing {start.unguarded} starts a process, which imports {start.unguarded} again",
            consequence="the new process ends with an error: it would start another one itself",
            remedy=_REMEDY,
            verdict=Verdict.CERTAIN,
        )


def _begins_anew(effect: Effect) -> bool:
    """Return whether the new process imports the program's file; it cannot if that is a notebook."""
    return effect.kind is EffectKind.SPAWNS and not effect.path.endswith(".ipynb")
