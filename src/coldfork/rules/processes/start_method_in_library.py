"""A library sets the start method of the programs that use it.

## What it does

Reports `set_start_method` where importing a module of a library calls it, or a function of a library that
others call. Programs may set the method: what runs below `if __name__ == "__main__"`, what a command calls,
plain scripts and notebooks are left out.

## Why is this bad

The start method belongs to the whole process. With `force=True` the library overrides what the program and
its other libraries chose, and their workers start in another way than they were tested with. Without it,
whoever comes second gets an error, be it the program or the library.

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

A context of its own makes processes, queues and locks without touching anybody else's:

```python
class Streamer:
    def __init__(self):
        self.context = multiprocessing.get_context("fork")
        self.queue = self.context.Queue()
```

## Fix safety

`coldfork check --fix=unsafe` takes the line out, and has a context make the processes, queues and locks of
the file. Where the file makes none, the edit is only shown: what relied on the method stands in other
modules.

## How it is seen

- **Static**: `coldfork check` follows imports, and calls by itself each function that holds the word. A
  function that a program of the same project comes to by functions alone is that program's, a method is not,
  and so is one that a parser of command lines calls, or that is given what it has read.
- **Runtime**: Python raises the error at the second call, and says nothing where the first was overridden.

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
                "the method is one for the whole process: the program's own choice, and that of its other "
                "libraries, is overridden or fails"
            ),
            remedy=f'make processes, queues and locks from multiprocessing.get_context("{method}")',
            verdict=verdict,
        )


def _of_programs(case: Case) -> Iterator[tuple[str, int]]:
    """The lines that a program comes to by its functions alone: they are parts of it, and no library's."""
    for effect in case.observation.effects:
        start = effect.start
        if effect.kind is EffectKind.SETS_START_METHOD and start is not None and start.program:
            if not any("." in step.symbol for step in (*start.way.steps, *effect.chain.steps) if step.path):
                yield effect.module, effect.line
