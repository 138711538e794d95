"""Code that a CUDA graph captures makes the host wait for the device, or reads from it.

## What it does

Reports a synchronisation in code that a capture reaches: `torch.cuda.synchronize()`,
`synchronize()` of a stream or an event, `.item()`, `.tolist()`, `.cpu()`, `.to("cpu")`, `.numpy()`,
`nonzero()`, `unique()`, `masked_select()`, indexing with a mask, asking a tensor for its
truth value, its number or its text (`if tensor:`, `int(tensor)`, `print(tensor)`), and making a tensor on the
device of what the host holds (`torch.tensor([1, 2], device="cuda")`, `torch.tensor([1, 2]).cuda()`): the
copy is waited for. The finding's chain leads from the line that captures to the call.

## Why is this bad

A stream under capture executes nothing, so there is nothing to wait for and no value to read. CUDA
refuses the call, and the whole capture is lost with it. Where CUDA does not refuse it, on a side
stream or in relaxed mode, the value that was read is baked into the graph, and every replay uses
that of the first batch.

## Example

```python
def forward(hidden, lengths):
    longest = lengths.max().item()
    return attend(hidden, longest)


with torch.cuda.graph(graph):
    output = forward(hidden, lengths)
```

What users see:

```text
torch.AcceleratorError: CUDA error: operation not permitted when stream is capturing
```

## Use instead

Read what the host needs before the capture and pass it in; leave on the device what only the
device needs:

```python
longest = max_length  # the largest that this graph is for

with torch.cuda.graph(graph):
    output = attend(hidden, longest)
```

## Fix safety

coldfork offers no automatic fix for this rule. A number that is read before the capture is the
same in every replay.

## How it is seen

- **Static**: calls are followed from the captured block through functions and methods of the
  checked code, and constant arguments select branches;
  `torch.cuda.is_current_stream_capturing()` is true there. `certain`: the call is reached on every
  path and concerns the device, the current stream or a tensor that is known to be on the GPU.
  `conditional` says what has to hold: a test on the way, or that the value is on the GPU.
  `possible`: the value may not be a tensor at all.
- **What it does not see**: what a method of an unknown object does, copies that are hidden in an
  operator or in compiled code, values from a container whose items are not known,
  `repeat_interleave` and other operators that synchronise for some arguments only. A tensor is
  recognised by how it is created, by the operators that it goes through, and by the annotation
  `torch.Tensor`; what is named `..._cpu`, `..._np`, `..._host` or `..._pinned` is assumed to be on
  the host, and what captured code asks for its device is assumed to be on the GPU. The first of
  several synchronisations ends a capture; all of them are listed.
- **Runtime**: `coldfork.graphs.check` and `coldfork.virtual.capture` refuse what the device would
  refuse, and name the line.

## References

- PyTorch, CUDA graphs, constraints:
  <https://pytorch.org/docs/stable/notes/cuda.html#constraints>
- CUDA programming guide, prohibited and unhandled operations during a capture:
  <https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#prohibited-and-unhandled-operations>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.captures import CaptureKind
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import capture_wording, wording
from coldfork.rules.findings.case import Case

NAME = "sync-in-captured-region"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each synchronisation that captured code reaches."""
    for effect in capture_wording.of_kind(case, CaptureKind.SYNCHRONISES):
        verb = wording.verb(effect.verdict, "waits", "wait")
        yield capture_wording.draft(
            effect,
            rule=NAME,
            message=f"captured code {verb} for the device: {effect.what} at {capture_wording.place(effect)}",
            consequence="a stream under capture refuses this, and the capture is lost",
            remedy="do it before the capture, or keep the value on the device",
        )
