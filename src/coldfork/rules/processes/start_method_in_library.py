"""A library sets the start method of the programs that use it.

## What it does

Reports `set_start_method` if importing a module of a library calls it, or a function of a library that other
code calls. Programs may set the method: code below `if __name__ == "__main__"`, functions called by a
command, plain scripts and notebooks are left out.

## Why is this bad

The start method belongs to the whole process. With `force=True` the library overrides what the program and
its other libraries chose, and their workers start in a way that they were not tested with. Without it, the
second caller gets an error, whether that is the program or the library.

## Example

```python
class Streamer:
    def __init__(self):
        multiprocessing.set_start_method("fork", force=True)
        self.queue = multiprocessing.Queue()
```

What users see, in a program that sets a method as well:

```text
RuntimeError: context has already been set
```

## Use instead

A separate context makes processes, queues and locks without affecting others:

```python
class Streamer:
    def __init__(self):
        self.context = multiprocessing.get_context("fork")
        self.queue = self.context.Queue()
```

## Fix safety

`coldfork check --fix=unsafe` removes the line, and makes the file's processes, queues and locks from a
context. If the file makes none, the edit is only shown: the code that relied on the method is in other
modules.

## How it is seen

- **Static**: `coldfork check` follows imports, and calls each function that contains the word by itself. A
  function that a program of the same project reaches only through functions belongs to that program, and so
  does one that a command line parser calls, or that gets a parsed command line; a method does not.
- **Runtime**: Python raises the error at the second call, and nothing if the first was overridden.

## References

- CPython, `set_start_method`:
  <https://docs.python.org/3/library/multiprocessing.html#multiprocessing.set_start_method>
- nfstream issue 74, a method that was set when the package was imported:
  <https://github.com/nfstream/nfstream/issues/74>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.causes import Audience
from coldfork.model.effects import Arrival, EffectKind
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "start-method-in-library"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each line of a library that sets the start method."""
    library = {one.name for one in case.observation.modules if one.audience is Audience.LIBRARY}
    programs = set(_of_programs(case))
    for effect in case.observation.effects:
        start = effect.start
        if effect.kind is not EffectKind.SETS_START_METHOD or start is None:
            continue
        if start.arrival is Arrival.PROGRAM or effect.module not in library:
            continue
        if start.arrival is Arrival.CALL and (effect.module, effect.line) in programs:
            continue
        verdict = drafting.surety(effect)
        whose = "every program that imports it"
        if start.arrival is Arrival.CALL:
            whose = "the program that calls it"
        method = start.method or "..."
        yield drafting.on_start(
            effect,
            rule=NAME,
            message=(
                f"{wording.doer(effect)} {wording.verb(verdict, 'sets', 'set')} the start method of {whose}"
            ),
            consequence=(
                "a process has only one start method: this overrides the choice of the program and of "
                "its other libraries, or makes it fail"
            ),
            remedy=f'make processes, queues and locks from multiprocessing.get_context("{method}")',
            verdict=verdict,
        )


def _of_programs(case: Case) -> Iterator[tuple[str, int]]:
    """Yield the lines that only functions of a program reach, so that they belong to the program."""
    for effect in case.observation.effects:
        start = effect.start
        if effect.kind is EffectKind.SETS_START_METHOD and start is not None and start.program:
            if not any("." in step.symbol for step in (*start.way.steps, *effect.chain.steps) if step.path):
                yield effect.module, effect.line
