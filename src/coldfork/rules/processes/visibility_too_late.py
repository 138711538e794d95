"""The variable for the devices that a process sees is set when the driver is already awake.

## What it does

Reports a line that sets `CUDA_VISIBLE_DEVICES`, `HIP_VISIBLE_DEVICES`, `ROCR_VISIBLE_DEVICES` or
`ZE_AFFINITY_MASK` after a call or an import that has woken that driver in the same process.

## Why is this bad

The driver reads the variable once, when it is woken. A later change has no effect in this process: it stays
with the first device, which another process may be using, and only its children see the change.

## Example

```python
def main(gpu):
    print(torch.cuda.get_device_name())
    os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)
    model = Model().cuda()
```

What users see: every worker in the memory of device 0, and

```text
torch.OutOfMemoryError: CUDA out of memory.
```

## Use instead

Choose the device by its number, or set the variable before the program starts:

```python
def main(gpu):
    torch.cuda.set_device(gpu)
    model = Model().cuda()
```

## Fix safety

`coldfork check --fix=unsafe` moves the line above the one that wakes the device, if both stand in the same
block and the line needs nothing that is made in between. The code in between then sees the variable, too.
Where the device is woken elsewhere, `set_device` in its place is shown, not written: the code that follows
has to count all devices.

## How it is seen

- **Static**: `coldfork check` follows programs, imports and functions that contain the variable's name. A
  function that sets it for processes that it or its caller starts is left out. A function that wakes the
  device after the line and is called twice, as in ultralytics 8.4.80, is not seen: most such functions are
  called once.
- **Runtime**: nothing is raised. `coldfork run` shows where the device was woken.

## References

- CUDA, environment variables: <https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#env-vars>
- ultralytics pull request 25021, which stopped setting the variable:
  <https://github.com/ultralytics/ultralytics/pull/25021>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldfork.model.effects import EffectKind
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "visibility-too-late"
SEVERITY = Severity.ERROR

#: For each variable, the accelerators whose drivers read it.
_READERS = {
    "CUDA_VISIBLE_DEVICES": frozenset({"cuda", "rocm"}),
    "HIP_VISIBLE_DEVICES": frozenset({"rocm"}),
    "ROCR_VISIBLE_DEVICES": frozenset({"rocm"}),
    "ZE_AFFINITY_MASK": frozenset({"xpu"}),
}


def judge(case: Case) -> Iterator[Finding]:
    """Report each line that sets a variable after the driver has read it."""
    for effect in case.observation.effects:
        start = effect.start
        if effect.kind is not EffectKind.SETS_VISIBILITY or start is None or start.before is None:
            continue
        if effect.accelerator not in _READERS[start.target]:
            continue
        finding = drafting.on_start(
            effect,
            rule=NAME,
            message=(
                f"{wording.doer(effect)} {wording.verb(effect.verdict, 'sets', 'set')} {start.target} "
                f"when {effect.accelerator} is already awake"
            ),
            consequence="the driver has read the variable: this process keeps seeing the same devices",
            remedy="set it before anything wakes the device, or choose the device by its number",
        )
        yield replace(finding, ways=tuple(drafting.ways(start, effect.accelerator)))
