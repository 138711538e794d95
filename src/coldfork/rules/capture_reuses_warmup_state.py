"""A CUDA graph is captured with state that its warm-up run has already initialised.

## What it does

Reports a capture whose code gets the same object (metadata, a buffer, a plan) as the warm-up run
before it, when that code initialises something in the object on its first run only. The finding's
chain leads from the line that captures to the line that tests the flag.

## Why is this bad

A capture records kernels without running them, and a replay runs what was recorded. The warm-up run
has set the flag, so the captured run skips the initialisation, which is missing from the graph.
Every replay computes with what the warm-up left in memory for another batch. Nothing fails; the
output is wrong.

## Example

```python
def attend(hidden, metadata):
    if not metadata.planned:  # the work of the first run: not in the graph
        metadata.plan = torch.cumsum(metadata.lengths, 0)
        metadata.planned = True
    return hidden + metadata.plan


def capture(hidden, lengths):
    metadata = Metadata(lengths)
    attend(hidden, metadata)  # the warm-up
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        attend(hidden, metadata)
    return graph
```

What users see: no traceback. Users of vLLM saw gibberish from the second batch on:

```text
!!!!!!!!!!!!!!!!!!!!
```

## Use instead

Create new state for the capture, so that its initialisation is recorded:

```python
def capture(hidden, lengths):
    attend(hidden, Metadata(lengths))  # the warm-up, with state of its own
    metadata = Metadata(lengths)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        attend(hidden, metadata)
    return graph
```

`coldfork.graphs.GraphManager` calls one function for both phases and so makes this mistake
impossible.

## Fix safety

coldfork offers no automatic fix for this rule. Creating the state twice is safe only if nothing
else refers to the first object, and if the buffers that it keeps are written again.

## How it is seen

- **Static**: `coldfork check` follows each function that captures from its beginning: the calls
  before the capture, then the captured ones, through functions and methods of the checked code. It
  keeps track of which object is which. A region is `with torch.cuda.graph(...)`, `capture_begin()`,
  `torch.cuda.make_graphed_callables(...)`, `coldfork.graphs.GraphManager.capture(...)` or
  `coldfork.graphs.check(...)`, and callers of functions that capture what they are passed
  are followed too. `certain`: both runs reach the flag on every path, on the same object, and the
  work that is left out computes from what was passed in. `conditional` quotes what else has to
  hold; where the work computes from attributes of a long-lived object, that it depends on the batch
  is such a condition.
- **What it does not see**: objects whose creation is not in sight, unless a parameter or `__init__`
  declares a class of the checked code that has no subclass; an attribute that is assigned in
  several places; generators; functions under decorators whose source is not checked; items under
  keys that are computed by code out of sight, which count as different each time; a warm-up in a
  function that the capturing one does not call; callers of a capturing function more than two calls
  away. What cannot be resolved is not followed, and nothing is reported about it. Of the work of
  the first run, only what computes a tensor and keeps it, or writes into a buffer or a view of it,
  counts, and only if the captured code reads it and has not computed it anew before: allocations,
  tables of constants, compiling and tuning are not reported, and a plan that a compiled kernel
  keeps inside an object is not seen.
- **Runtime**: `coldfork.graphs.check` compares the state before and after a warm-up, and names both
  lines.

## References

- vLLM pull request 42444, fresh attention state for the capture:
  <https://github.com/vllm-project/vllm/pull/42444>
- vLLM pull request 44253, the same for the prefill of a speculative decoder:
  <https://github.com/vllm-project/vllm/pull/44253>
- vLLM pull request 48261, buffers that were built for the warm-up:
  <https://github.com/vllm-project/vllm/pull/48261>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.captures import CaptureKind
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import capture_wording, wording
from coldfork.rules.findings.case import Case

NAME = "capture-reuses-warmup-state"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each capture that is given what its warm-up initialised."""
    for effect in capture_wording.of_kind(case, CaptureKind.REUSES_STATE):
        verb = wording.verb(effect.verdict, "is captured", "be captured")
        yield capture_wording.draft(
            effect,
            rule=NAME,
            message=f"{capture_wording.culprit(effect)} {verb} with {effect.what} already set by the warm-up"
            f"{capture_wording.earlier(effect)}",
            consequence="what is done on the first run only is missing from the graph: "
            "a replay computes with what the warm-up left",
            remedy=f"create what holds {effect.what} again for the capture, after the warm-up",
        )
