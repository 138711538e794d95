"""A process forks after it has woken the device, and the child uses it.

## What it does

Reports a line that forks processes when the device was woken earlier in the same process, and the function
that the child runs uses the device: `Process.start`, `Pool`, the first task of a `ProcessPoolExecutor`, the
loop over a `DataLoader` with workers, each with the start method `fork`, whether chosen or by default.
Programs are followed from their `if __name__ == "__main__"` on, imports and notebooks as well. The finding
shows the line that forks, the wake before it, and the use in the child, each with the calls that lead there.

## Why is this bad

The driver's state does not survive `fork`. The child inherits a context that it cannot use: PyTorch refuses
with an error, other libraries fail with a driver error or wait forever.

## Example

```python
def work(i):
    return torch.ones(1, device="cuda") * i


if __name__ == "__main__":
    torch.cuda.init()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(work, range(4))
```

What users see, in the forked worker:

```text
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing,
you must use the 'spawn' start method
```

## Use instead

Start the workers anew, with `spawn`:

```python
with multiprocessing.get_context("spawn").Pool(2) as pool:
    pool.map(work, range(4))
```

Everything passed to a spawned worker has to be picklable. If there are many workers, which must be cheap,
fork them before anything wakes the device, or from a server that never does: `coldfork.launch` keeps one.

`coldfork.decide(work).method` chooses the same while the program runs.

## Fix safety

`coldfork check --fix=unsafe` states `spawn` where the processes, and the queues and locks passed to them, are
made, in another function of the file, too. It is unsafe because everything passed has to be picklable.

## How it is seen

- **Static**: `coldfork check` follows a program's calls to the line that forks. It is `certain` where the
  wake, the fork and the use in the child lie on every feasible path; `conditional` quotes what has to hold. A
  child that never uses a device is not reported, nor one with unknown code: PyTorch's pinned memory can abort
  such a child when it ends, as in speculators 0.6.0, which is not seen; `coldfork explain` recognises its
  message.
- **Runtime**: `coldfork run PROGRAM` ends the child at its first use of the device, and names both lines.
  `coldfork check --confirm=run` runs the program this way, and reports the outcome of each finding.

## References

- PyTorch, multiprocessing best practices:
  <https://pytorch.org/docs/stable/notes/multiprocessing.html>
- SGLang pull request 34712, a benchmark that forks after it has asked for the device:
  <https://github.com/sgl-project/sglang/pull/34712>
- CPython, contexts and start methods:
  <https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from coldfork.model.effects import Effect, EffectKind, ProcessStart
from coldfork.model.findings import Finding, Severity
from coldfork.model.forking.judgement import Judgement
from coldfork.rules.findings import drafting, forks, wording
from coldfork.rules.findings.drafting import Case

NAME = "fork-after-device-init"
SEVERITY = Severity.ERROR

_BEFORE = "start the processes before anything wakes the device, or "


def judge(case: Case) -> Iterator[Finding]:
    """Report each fork after a wake if the child uses the woken device."""
    for effect in case.observation.effects:
        start = effect.start
        if effect.kind is not EffectKind.FORKS or start is None:
            continue
        if start.before is None or start.child is None:
            continue
        end = effect.chain.steps[-1].symbol
        verdict = forks.judged(start, effect.accelerator, end)
        if verdict.judgement is Judgement.HARMLESS:
            continue
        device = wording.device(effect.accelerator)
        target = start.target or "what it runs"
        finding = drafting.on_start(
            effect,
            rule=NAME,
            message=(
                f"{start.program or effect.module} {wording.verb(effect.verdict, 'forks', 'fork')} "
                f"after it has woken {effect.accelerator}, and {target} uses {device} in the child"
            ),
            consequence=re.sub("^it ", "the child ", verdict.condition or ""),
            remedy=_remedy(effect, start, forks.decision(start, effect.accelerator, verdict).method),
        )
        yield replace(finding, ways=tuple(drafting.ways(start, effect.accelerator)))


def _remedy(effect: Effect, start: ProcessStart, method: str) -> str:
    """Return the remedy, including the start method that `coldfork.decide` would choose."""
    context = f'multiprocessing.get_context("{method}")'
    if effect.path.endswith(".ipynb"):
        return f"{_BEFORE}put the code that they run into a module, which {context} can import"
    words = forks.unsendable(start)
    if words:
        return f"{_BEFORE}with {context}, for which {words} has to be put at module level"
    return f"start the processes with {context}, or before anything wakes the device"
