"""Processes start by a default that breaks them on some of the supported Pythons.

## What it does

Reports a line that starts processes without a start method being stated anywhere, in a project whose
`requires-python` allows a Python before 3.14 and one from 3.14 on, if the child uses a device and one of the
two defaults breaks it: the device was woken before, or an object passed to the child cannot be pickled.

## Why is this bad

Up to Python 3.13 such a process is forked on Linux: it inherits everything, and the state of a woken device
breaks it. From 3.14 on a server starts it: it starts afresh, imports the program again and gets its data by
pickling, so anything that it was to inherit is missing. The same program fails on one Python and works on the
other, and nothing in it says which.

## Example

```python
def work(queue):
    queue.put(torch.cuda.get_device_name())


def main():
    print(torch.cuda.device_count(), torch.cuda.is_available())
    queue = multiprocessing.Queue()
    multiprocessing.Process(target=work, args=(queue,)).start()
```

What users see, on Python 3.13 and not on 3.14:

```text
RuntimeError: Cannot re-initialize CUDA in forked subprocess
```

and on 3.14, not on 3.13, if the target is a lambda or a local function:

```text
AttributeError: Can't get local object 'main.<locals>.work'
```

## Use instead

State the method. `spawn` suits a child that uses a device and can be sent what it needs:

```python
def main():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    context.Process(target=work, args=(queue,)).start()
```

A child that reads its parent's data needs `get_context("fork")`, before anything wakes the device.

## Fix safety

`coldfork check --fix=unsafe` states `spawn` where the processes are made. Only the author knows whether the
child relies on inherited data.

## How it is seen

- **Static**: `coldfork check` reads the supported versions from the project's files or its wheel's metadata.
  If those name no range that includes both, the rule is silent; so it is if the child touches no device, or
  if nothing is known to break it: in forty applications nearly all such starts work by either method. A child
  that reads inherited data, as in desispec, is not recognised.
- **Runtime**: `coldfork run PROGRAM` shows what happens with the Python at hand.

## References

- CPython 3.14, the default start method changed:
  <https://docs.python.org/3/whatsnew/3.14.html#multiprocessing>
- SGLang pull request 34712, mended by spawn: <https://github.com/sgl-project/sglang/pull/34712>
- desispec pull request 2812, mended by fork: <https://github.com/desihub/desispec/pull/2812>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldfork.model.effects import Effect, EffectKind, ProcessStart
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting, forks, wording
from coldfork.rules.findings.drafting import Case

NAME = "default-start-method"
SEVERITY = Severity.WARNING

_STARTING = frozenset({EffectKind.FORKS, EffectKind.SPAWNS})
_REMEDY = (
    'choose one: get_context("spawn") if the child can be sent what it needs; if it needs what its '
    'parent holds, get_context("fork") before anything wakes the device'
)


def judge(case: Case) -> Iterator[Finding]:
    """Report each start by a default method that differs between Pythons, if a device is involved."""
    for effect in case.observation.effects:
        start = effect.start
        if effect.kind not in _STARTING or start is None or not start.differs:
            continue
        if start.child is None or (start.before is None and not forks.unsendable(start)):
            continue  # the start usually works with either method
        verdict = drafting.surety(effect)
        finding = drafting.on_start(
            effect,
            rule=NAME,
            message=(
                f"{wording.doer(effect)} {wording.verb(verdict, 'starts', 'start')} processes by default: "
                "fork up to Python 3.13, forkserver from 3.14 on"
            ),
            consequence=_consequence(effect, start),
            remedy=_REMEDY,
            verdict=verdict,
        )
        ways = drafting.ways(start, effect.accelerator)
        severity = SEVERITY if finding.severity is Severity.ERROR else finding.severity
        yield replace(finding, severity=severity, ways=tuple(ways))


def _consequence(effect: Effect, start: ProcessStart) -> str:
    device = wording.device(effect.accelerator)
    words = forks.unsendable(start)
    anew = "from 3.14 on it starts afresh, and gets its data by pickling"
    if words:
        anew = f"from 3.14 on it does not start, because {words} cannot be pickled"
    if start.before is None:
        return f"up to 3.13 the child is forked, and may use {device}; {anew}"
    return f"up to 3.13 the child cannot use {device}, which was woken before the fork; {anew}"
