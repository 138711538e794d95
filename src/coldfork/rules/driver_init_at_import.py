"""Importing the module initialises an accelerator's driver, though it creates no context.

## What it does

Reports a line that an import executes and that initialises the driver (`cuInit`, `hipInit`,
`zeInit`) without creating a context. The usual ones are questions that look harmless:
`torch.cuda.is_available()`, `cupy.cuda.is_available()`, `numba.cuda.is_available()`,
`cuda.bindings.driver.cuInit(0)`.

## Why is this bad

An initialised driver is enough to break a fork: in a forked child of this process, every call to the
driver fails. It is also harder to find than a context, because `torch.cuda.is_initialized()` stays
`False`: code that checks this flag before it chooses `fork` chooses wrongly.

## Example

```python
HAS_TRITON = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
```

What users see, in the forked worker:

```text
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing,
you must use the 'spawn' start method
```

or, when the driver was initialised behind PyTorch's back:

```text
RuntimeError: CUDA error: initialization error
```

## Use instead

```python
@functools.cache
def has_triton() -> bool:
    return torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
```

If the question must be asked at import time, let NVML answer it: PyTorch does so when
`PYTORCH_NVML_BASED_CUDA_CHECK=1` is set before the call.

## Fix safety

`coldfork check --fix` mends constants, class attributes and default arguments as `coldfork rule
device-init-at-import` describes, and says why it leaves other lines alone. If the answer of
`torch.cuda.is_available()` is needed at import, `--fix=unsafe` asks `torch.cuda.device_count() > 0` instead,
which NVML answers where it can.

It is safe:

```diff
 import torch


-def load(path: str, cuda: bool = torch.cuda.is_available()) -> str:
+def load(path: str, cuda: bool = None) -> str:
+    if cuda is None:
+        cuda = torch.cuda.is_available()
     return f"{path} on {'cuda' if cuda else 'cpu'}"
```

## How it is seen

- **Static**: `coldfork check` follows the calls that an import executes to a call known to
  initialise the driver. `--profile cuda-without-nvml` shows what happens on a machine where NVML
  does not answer.
- **Runtime**: `coldfork probe MODULE` imports the module in a fresh interpreter and names the line.
  It asks the driver itself, because torch's flags do not show its state.

## References

- PyTorch, torch.cuda.is_available:
  <https://pytorch.org/docs/stable/generated/torch.cuda.is_available.html>
- PyTorch issue 80876, where `import torch` asked whether CUDA is available:
  <https://github.com/pytorch/pytorch/issues/80876>
- CUDA driver API, initialisation:
  <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__INITIALIZE.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import EffectKind
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "driver-init-at-import"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each driver that the module's own code initialises at import."""
    for effect in case.observation.effects:
        if effect.imported is None and effect.kind is EffectKind.INITIALISES_DRIVER:
            yield drafting.on_effect(
                effect,
                rule=NAME,
                message=f"{wording.wakes(effect, case.is_program(effect))}: it initialises the driver",
                consequence=wording.cost(effect, case.is_program(effect)),
                remedy=case.remedy(effect.remedy) or wording.on_first_use(effect),
            )
