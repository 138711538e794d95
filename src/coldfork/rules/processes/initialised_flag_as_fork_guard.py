"""A start method is chosen by a flag that does not show whether the driver is awake.

## What it does

Reports a function that chooses how processes start by asking whether PyTorch has made a context:
`torch.cuda.is_initialized()`, `torch.xpu.is_initialized()` or `torch.cuda._is_in_bad_fork()`, directly or
through a function that passes on the answer. It is not reported if the function also asks about the driver,
or whether there is a device at all.

## Why is this bad

The flag only reflects PyTorch's own actions. The driver may be awake while it is False: after
`torch.cuda.is_available()`, after an import of triton, tilelang or cutlass that asks for the device, after
CuPy or JAX. The function then forks, and the child cannot use the device.

## Example

```python
def start_method():
    return "spawn" if torch.cuda.is_initialized() else "fork"


torch.cuda.is_available()
multiprocessing.get_context(start_method()).Process(target=work).start()
```

What users see, in the child:

```text
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing,
you must use the 'spawn' start method
```

## Use instead

Decide by the state of the process and by what the child will do:

```python
def start_method():
    return coldfork.decide(work).method
```

Or choose `spawn` wherever the child may use a device, whatever this process has done.

## Fix safety

coldfork offers no automatic fix for this rule: it does not know which processes are started by the answer.

## How it is seen

- **Static**: `coldfork check` reads each function of a file that mentions both the flag, or a function whose
  name contains it, and a start method. A choice made in another function than the question is not seen, nor
  is a flag of another library, as in NVIDIA DALI 1.10.
- **Runtime**: `coldfork run PROGRAM` and the guard ask the driver itself, and name the fork.

## References

- vLLM issue 32611 and pull request 44252, a probe of the driver instead of the flag:
  <https://github.com/vllm-project/vllm/pull/44252>
- NVIDIA DALI pull request 3671, the same fault mended in another library:
  <https://github.com/NVIDIA/DALI/pull/3671>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import EffectKind
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "initialised-flag-as-fork-guard"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each function that chooses a start method by a flag."""
    for effect in case.observation.effects:
        start = effect.start
        if effect.kind is not EffectKind.CHOOSES_START_METHOD or start is None:
            continue
        yield drafting.on_start(
            effect,
            rule=NAME,
            message=f"{wording.doer(effect)} chooses how processes start by {start.target} alone",
            consequence="the flag stays False if anything else woke the driver, and the fork breaks",
            remedy=(
                "choose spawn wherever the child may use a device, or ask coldfork.decide(), which asks the "
                "driver"
            ),
            verdict=drafting.surety(effect),
        )
