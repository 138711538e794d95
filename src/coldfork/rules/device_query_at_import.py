"""Importing the module asks about devices in a way that wakes them where the cheap answer fails.

## What it does

Reports a line that an import executes and that asks about devices through a call with two ways to
find the answer: a cheap one (NVML on NVIDIA, AMD SMI on ROCm, a platform check) and, when that
fails, the driver. `torch.cuda.device_count()` is the best known of these calls.

## Why is this bad

On most machines nothing happens. On the others, such as containers without NVML, WSL, some cloud
images, MIG set-ups and machines whose driver does not match its library, the same import
initialises the driver, and forked workers break there and only there. Such a bug report is hard to
reproduce.

## Example

```python
NUM_GPUS = torch.cuda.device_count()
```

What users see, in the forked worker, on a machine where NVML does not answer:

```text
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing,
you must use the 'spawn' start method
```

## Use instead

```python
@functools.cache
def num_gpus() -> int:
    return torch.cuda.device_count()
```

## Fix safety

`coldfork check --fix` mends constants, class attributes and default arguments as `coldfork rule
device-init-at-import` describes, and says why it leaves other lines alone.

It is safe:

```diff
+import functools
+
 import torch

-COUNT = torch.cuda.device_count()
+
+@functools.cache
+def _count():
+    return torch.cuda.device_count()
+
+
+def __getattr__(name):
+    if name == "COUNT":
+        return _count()
+    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


 def share(size: int) -> int:
-    return size // COUNT
+    return size // _count()
```

## How it is seen

- **Static**: `coldfork check` knows which calls have a cheap answer. The verdict is never
  `certain`: the query always runs, but the device wakes only where the cheap answer fails.
  `coldfork check --profile cuda-without-nvml` assumes a machine where it does.
- **Runtime**: `coldfork probe --virtual h100-without-nvml MODULE` imports the module on a virtual
  machine without NVML, and names the line that woke the driver. Where NVML works, the import stays
  cold.

## References

- PyTorch, torch.cuda.device_count:
  <https://pytorch.org/docs/stable/generated/torch.cuda.device_count.html>
- NVIDIA Management Library:
  <https://docs.nvidia.com/deploy/nvml-api/>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.knowledge.facts import SILENT_MANAGEMENT
from coldfork.model.effects import Effect, EffectKind, Verdict
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "device-query-at-import"
SEVERITY = Severity.WARNING

_ANY_HOST = "a host where only the driver can answer"


def judge(case: Case) -> Iterator[Finding]:
    """Report each device query that the module's own code makes at import, but not those in its imports."""
    for effect in case.observation.effects:
        if effect.imported is None and effect.kind is EffectKind.QUERIES_DEVICE:
            host = SILENT_MANAGEMENT.get(effect.accelerator, _ANY_HOST)
            asks = wording.verb(effect.verdict, "asks", "ask")
            doing = wording.doing(effect, case.is_program(effect))
            yield drafting.on_effect(
                effect,
                rule=NAME,
                message=f"{doing} {asks} for {effect.accelerator} devices",
                consequence=_consequence(effect, host),
                remedy=case.remedy(effect.remedy) or wording.on_first_use(effect),
                # Even if the query is certain to be made, whether it wakes a device depends on the machine.
                verdict=Verdict.CONDITIONAL if effect.verdict is Verdict.CERTAIN else effect.verdict,
                condition=_condition(effect, host),
            )


def _condition(effect: Effect, host: str) -> str:
    if effect.condition is None:
        return host
    return effect.condition if host in effect.condition else f"{effect.condition} and {host}"


def _consequence(effect: Effect, host: str) -> str:
    device = wording.device(effect.accelerator)
    return f"on {host}, this wakes the driver, and forked workers can no longer use {device}"
