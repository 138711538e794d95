"""A CUDA graph captures code that has never run before.

## What it does

Reports a capture whose block calls a function or a model for the first time ever: it was created or
defined in the function that captures, and nothing called it, or could have called it, before.

## Why is this bad

Much of what happens on a first run must not happen under capture: libraries create handles and
workspaces, kernels are compiled and tuned, modules are loaded, buffers are filled. CUDA refuses
some of it, which ends the capture. The rest is recorded: memory comes from the graph's own pool,
and what should have been done once is repeated in every replay, or never done at all. PyTorch asks
for a few runs on a side stream first.

## Example

```python
def capture(sample):
    model = Decoder().cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = model(sample)
    return graph, output
```

What users see:

```text
torch.AcceleratorError: CUDA error: operation not permitted when stream is capturing
```

## Use instead

```python
def capture(sample):
    model = Decoder().cuda()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(sample)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = model(sample)
    return graph, output
```

## Fix safety

coldfork offers no automatic fix for this rule. A warm-up runs the model for real: it advances
random number generators, fills caches and updates statistics, which may have to be restored.

## How it is seen

- **Static**: the function that captures is followed from its beginning, with the calls that it
  makes. `certain`: on no path to the captured call has it run before. `conditional` quotes the test
  on the way.
- **What it does not see**: whether something that comes from outside, an attribute, a function or a
  method that others can call has run before; none of these is ever reported. An object that was
  passed to a call without source counts as run. Operators of torch that the block calls, directly
  or in a function defined beside it, do not count, although they have first runs too.
- **Runtime**: `coldfork.graphs.GraphManager` always runs a warm-up first.

## References

- PyTorch, CUDA graphs, whole-network capture:
  <https://pytorch.org/docs/stable/notes/cuda.html#whole-network-capture>
- vLLM issue 46523, autotuning in the first run, which is the captured one:
  <https://github.com/vllm-project/vllm/issues/46523>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.captures import CaptureKind
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import capture_wording, wording
from coldfork.rules.findings.case import Case

NAME = "capture-before-warmup"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each capture of what never ran before."""
    for effect in capture_wording.of_kind(case, CaptureKind.NOT_WARMED_UP):
        verb = wording.verb(effect.verdict, "is captured", "be captured")
        yield capture_wording.draft(
            effect,
            rule=NAME,
            message=f"{effect.what} {verb} without having run before",
            consequence="what a first run sets up (handles, workspaces, compiled kernels) happens under "
            "capture, which refuses some of it and repeats the rest",
            remedy=f"run {effect.what} a few times on a side stream before the capture",
        )
