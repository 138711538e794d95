"""The module imports something whose own import wakes a device.

## What it does

Reports an import statement that an import executes, when the module it names, or a package on the
way to it, wakes an accelerator while it is imported. The module may be a dependency or one of your
own. The finding's chain leads from the import statement through all modules between to the call
that wakes the device.

## Why is this bad

Your module has become one that wakes the device, without a line in it that mentions a device. Every
process that imports it can no longer fork workers that use the accelerator; see
`device-init-at-import` for what follows from that.

## Example

```python
import deepspeed  # asks for the compute capability in a class body
```

What users see, in the forked worker:

```text
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing,
you must use the 'spawn' start method
```

## Use instead

Import where the name is used, and for types only while types are checked:

```python
if TYPE_CHECKING:
    import deepspeed


def prepare(model: Model) -> deepspeed.DeepSpeedEngine:
    import deepspeed

    return deepspeed.initialize(model)
```

Where the imported module is your own, mend the line in it that wakes the device: that line is
reported by a rule of its own, and this finding disappears with it.

## Fix safety

coldfork offers no automatic fix for this rule. Moving an import into a function is unsafe where
other modules import the name from this one, and where the import registers something on the way.

## How it is seen

- **Static**: whether a dependency wakes a device is computed from its sources in the environment
  that `--python` or `--site-packages` names; what has no Python source is looked up in coldfork's
  knowledge base.
- **Runtime**: `coldfork probe MODULE` lists the imports that led to the waking line, outermost first;
  the import reported here is one of them.

## References

- Python, the import system:
  <https://docs.python.org/3/reference/import.html>
- trl pull request 3351, importing deepspeed in functions:
  <https://github.com/huggingface/trl/pull/3351>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import WAKING, Effect
from coldfork.model.findings import Finding, Severity
from coldfork.rules import eager_reexport
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.case import Case

NAME = "waking-import"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each import that wakes a device and is not a package's eager re-export."""
    for effect in case.observation.effects:
        if effect.imported is None or effect.kind not in WAKING or eager_reexport.is_reexport(effect):
            continue
        yield drafting.on_effect(
            effect,
            rule=NAME,
            message=f"{wording.wakes(effect)} by importing {effect.imported.module}",
            consequence=wording.cost(effect),
            remedy=case.remedy(effect.remedy) or _remedy(effect),
        )


def _remedy(effect: Effect) -> str:
    assert effect.imported is not None
    name = effect.imported.module
    remedy = f"import {name} inside the function that uses it"
    if effect.imported.woken_elsewhere:
        remedy += ", or mend the waking line in it, which is reported too"
    return remedy
