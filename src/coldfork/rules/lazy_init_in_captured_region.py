"""Code that a CUDA graph captures initialises something on its first run, and keeps it.

## What it does

Reports a test such as `if not self._ready:`, `if self.plan is None:` or `if key not in self.plans:`
in code that a capture reaches, when the branch computes something on the device and stores it where
it outlives the capture: in an attribute of the object that captures or of one of its parts, or in a
global variable. The finding's chain leads from the line that captures to the test.

## Why is this bad

A graph records what runs during the capture. If the code has run before, the work is already done
and is *not* recorded: no replay does it again, although each replay has another batch. If it has
not, the work is recorded but not executed, and eager code that finds the flag set reads memory that
nothing has written yet.

## Example

```python
class Backend:
    def forward(self, hidden, lengths):
        if self.plan is None:
            self.plan = torch.cumsum(lengths, 0)
        return hidden + self.plan
```

What users see: no traceback, but wrong numbers in every replay; or, where a capture refuses the
work:

```text
torch.AcceleratorError: CUDA error: operation not permitted when stream is capturing
```

## Use instead

Do what depends on the batch in every run, and do the rest before the capture:

```python
class Backend:
    def __init__(self, size):
        self.plan = torch.empty(size, device="cuda")

    def forward(self, hidden, lengths):
        torch.cumsum(lengths, 0, out=self.plan)
        return hidden + self.plan
```

## Fix safety

coldfork offers no automatic fix for this rule. Moving the work out of the branch makes
every run pay for it; moving it to `__init__` is right only if it is the same for every batch.

## How it is seen

- **Static**: as for `capture-reuses-warmup-state`; that rule is about objects that are passed to
  the captured code, this one about objects that belong to it. `certain`: the warm-up sets the flag
  on every path, and the work computes from what is passed in. `conditional`: the flag is set only
  if an earlier run got there, or the work depends on the batch only if an attribute does; the
  condition says which. Work that is the same for every batch is not reported: allocations, tables
  of constants, sizes and devices.
  The items of a container are told apart by their keys: work under one key in the warm-up and under
  another in the capture is recorded, and not reported. State may lie in attributes of objects,
  classes and functions, in names of functions around, in other modules, in context variables, in
  `functools.cache` and `functools.cached_property`, and be asked for with `if`, `match`, `while`,
  `try`, `or` or a conditional expression.
- **What it does not see**: flags that are tested by a function outside the checked code, work in
  compiled code, and classes that are chosen when the program runs. An object that comes from
  outside counts only where its creation is seen, or where its class is declared and has no
  subclass. What is computed and thrown away, never read by the captured code, or computed anew by
  it, compiled or tuned is not reported.
- **Runtime**: `coldfork.graphs.check` reports such a flag as `state` and the memory as `memory`.

## References

- PyTorch, CUDA graphs, whole-network capture and its constraints:
  <https://pytorch.org/docs/stable/notes/cuda.html#cuda-graphs>
- vLLM pull request 42444, a planning kernel that was never recorded:
  <https://github.com/vllm-project/vllm/pull/42444>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.captures import CaptureKind
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import capture_wording, wording
from coldfork.rules.findings.case import Case

NAME = "lazy-init-in-captured-region"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each lazy initialisation in captured code that outlives the capture."""
    for effect in capture_wording.of_kind(case, CaptureKind.INITIALISES_LAZILY):
        verb = wording.verb(effect.verdict, "initialises", "initialise")
        yield capture_wording.draft(
            effect,
            rule=NAME,
            message=f"captured code {verb} {effect.what} on its first run only, "
            f"at {capture_wording.place(effect)}",
            consequence="a run before the capture leaves that work out of the graph, "
            "and without one it is recorded but not executed",
            remedy="do it in every run, or before the capture if it is the same for every batch",
        )
