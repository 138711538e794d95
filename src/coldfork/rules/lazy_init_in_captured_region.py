"""Code that a CUDA graph captures initialises something on its first run, and keeps it.

## What it does

Reports a test such as `if not self._ready:`, `if self.plan is None:` or `if key not in self.plans:`
in code that a capture reaches, when the work behind it computes something for the device and is
kept where it outlives the capture: in an attribute of the object that captures or of one of its
parts, or in a global variable. The finding's chain leads from the line that captures to the test.

## Why is this bad

A graph records what runs during the capture. If the code ran before, the work is done and is *not*
recorded: no replay does it again, although the batch is another one. If it did not, the work is
recorded but not executed, and eager code that finds the flag set reads memory that nothing has
written yet.

## Example

```python
class Backend:
    def forward(self, hidden, lengths):
        if self.plan is None:
            self.plan = torch.cumsum(lengths, 0)
        return hidden + self.plan
```

What users see: no traceback, and wrong numbers in every replay, or, where the work is one that a
capture refuses:

```text
torch.AcceleratorError: CUDA error: operation not permitted when stream is capturing
```

## Use instead

Do what hangs on the batch in every run, and what does not before the capture:

```python
class Backend:
    def __init__(self, size):
        self.plan = torch.empty(size, device="cuda")

    def forward(self, hidden, lengths):
        torch.cumsum(lengths, 0, out=self.plan)
        return hidden + self.plan
```

## Fix safety

coldfork offers no automatic fix for this rule. Moving the work out of the branch makes every run
pay for it; moving it to `__init__` is right only if it is the same for every batch.

## How it is seen

- **Static**: as for `capture-reuses-warmup-state`; that rule speaks where the object was handed in,
  this one where it belongs to the captured code. `certain`: the warm-up is seen to set the flag, on
  each way, and the work computes from what is handed in. `conditional`: it is set if an earlier run
  came there, or the work hangs on the batch only if an attribute does; the condition says which.
  Work that is the same for every batch is no finding: allocating, tables of constants, sizes and
  devices.
- **What it does not see**: `functools.cached_property` and `functools.cache`, flags that are tested
  through a function that is not in the checked code, a flag that is tested in one function and set
  in another than the test's own object, work in compiled code, and classes that are chosen when the
  program runs. An object that is given from outside counts only where its making is seen or its
  class is declared and nothing derives from that. What is computed and thrown away, compiled or
  tuned is no finding.
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
            "and without one it is recorded but not done",
            remedy="do it in every run, or before the capture if it is the same for every batch",
        )
