"""A process is sent a function that cannot be pickled.

## What it does

Reports a line that starts a process by `spawn` or `forkserver` and passes it a lambda, a function or class
that is local to another function, or an object of such a class, as its target, its initialiser, an argument,
or as the `collate_fn` or dataset of a `DataLoader`; and a line that gives one to a pool or an executor to
call, whether or not its processes are forked.

## Why is this bad

A fresh process gets its data by pickling, and `pickle` finds functions and classes by their name in a module:
anything local to a function has none. Python raises an error where the process would start. With `fork` the
same line works, so it breaks where the default is different: on macOS and Windows, and from Python 3.14 on
everywhere. The tasks of a pool are pickled in any case.

## Example

```python
def load(dataset, pad):
    def collate(batch):
        return pad(batch)

    return DataLoader(dataset, collate_fn=collate, num_workers=4, multiprocessing_context="spawn")
```

What users see:

```text
AttributeError: Can't pickle local object 'load.<locals>.collate'
```

## Use instead

```python
class Collate:
    def __init__(self, pad):
        self.pad = pad

    def __call__(self, batch):
        return self.pad(batch)


def load(dataset, pad):
    return DataLoader(dataset, collate_fn=Collate(pad), num_workers=4, multiprocessing_context="spawn")
```

A function at module level with `functools.partial` for the enclosing variables works, too.

## Fix safety

`coldfork check --fix=unsafe` turns a function that does nothing but make and return a local one into a class.
Other local functions and classes, and lambdas, are moved to module level, with `functools.partial` for the
enclosing variables. It is unsafe because these have to be picklable, too; one that is bound again below, or
is itself a local function, is refused.

## How it is seen

- **Static**: `coldfork check` follows programs and imports to the line, and knows the method and the objects
  passed. A function that `functools.wraps` has given another's name is taken for the module's object of that
  name. The attributes of an object are not examined. By default the method is that of the target version:
  with `target-version = "3.14"` all code that relies on `fork` is found. Libraries that pickle by value, such
  as `cloudpickle`, joblib and `multiprocess`, are not mistaken for the standard library.
- **Runtime**: Python raises the error. `coldfork check --confirm=run` runs the program, and looks for it.

## References

- pytorch-meta pull request 39, a collate function that is local to another one:
  <https://github.com/tristandeleu/pytorch-meta/pull/39>
- speculators pull request 884, the same fault mended by a class:
  <https://github.com/vllm-project/speculators/pull/884>
- CPython, what can be pickled:
  <https://docs.python.org/3/library/pickle.html#what-can-be-pickled-and-unpickled>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import Effect, EffectKind, Obstacle, ProcessStart
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "unpicklable-target"
SEVERITY = Severity.ERROR

_REMEDY = (
    "define it at module level, with a `__call__` class or functools.partial for the values that it needs"
)


def judge(case: Case) -> Iterator[Finding]:
    """Report each line that passes an object to a process although it cannot be pickled."""
    for effect, start, met in case.hindered(Obstacle.UNPICKLABLE):
        if effect.kind is EffectKind.FORKS and not start.tasks:
            continue  # with fork, the objects need not be pickled
        verdict = drafting.surety(effect)
        sent = wording.verb(verdict, "is", "be")
        yield drafting.on_start(
            effect,
            rule=NAME,
            message=f"{met.words} {sent} sent to {_whom(effect, start)}, and cannot be pickled",
            consequence=_consequence(effect, start),
            remedy=_REMEDY,
            verdict=verdict,
        )


def _whom(effect: Effect, start: ProcessStart) -> str:
    if not start.tasks:
        return "a fresh process"
    return "the workers of a DataLoader" if _is_of_loader(effect) else "a pool"


def _consequence(effect: Effect, start: ProcessStart) -> str:
    if start.tasks and _is_of_loader(effect):
        return "Python raises an error when it is iterated with workers"
    return "Python raises an error here, and nothing runs"


def _is_of_loader(effect: Effect) -> bool:
    return effect.chain.steps[-1].symbol == "DataLoader"
