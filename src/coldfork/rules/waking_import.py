"""The module imports another one whose import wakes a device.

## What it does

Reports an import statement that runs at import time, when the module it names, or one of the
packages that contain it, wakes an accelerator as it is imported. The module may be a dependency or
one of your own. The finding's chain leads from the import statement through all the modules in
between to the call that wakes the device.

## Why is this bad

Your module now wakes the device, although no line in it mentions one. Every process that imports it can no
longer fork workers that use the accelerator; see `device-init-at-import` for the consequences.

## Example

```python
import bitsandbytes  # asks for the compute capability
```

What users see, in the forked worker:

```text
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing,
you must use the 'spawn' start method
```

## Use instead

Import the module where it is used; for annotations, import it only while types are checked:

```python
if TYPE_CHECKING:
    import bitsandbytes


def optimizer(model: Module) -> bitsandbytes.optim.AdamW8bit:
    import bitsandbytes

    return bitsandbytes.optim.AdamW8bit(model.parameters())
```

From Python 3.15 on, a lazy import does the same, as long as nothing reads the name while the module is
imported. A list in `__lazy_modules__` has the same effect there, and older Pythons ignore it:

```python
__lazy_modules__ = ["bitsandbytes"]

import bitsandbytes
```

If the imported module is your own, fix the line in it that wakes the device: another rule reports that line,
and this finding, which belongs to its entry, disappears with it.

## Fix safety

`coldfork check --fix` moves the import into the functions that use its names, together with the `if` around
it; the fix is unsafe if that condition depends on more than the device. An import in a `try` becomes a
function that binds the same names, which is called where they are used. Another module that takes the name
from this one also does so later, or gets it through `__getattr__`. So does code elsewhere that takes an
object imported here from this module; `--fix=unsafe` leaves that out. If annotations name the import, the fix
is unsafe: they are quoted, and only type checkers still see the import. The import stays, and the report says
why, if the module needs it at once, or if nothing uses it: it may be there for its side effects. A package
that registers something on import then does so later.

It is safe:

```diff
-import bitsandbytes
-
-
 def optimizer(model):
+    import bitsandbytes
     return bitsandbytes.optim.AdamW8bit(model.parameters())
```

## How it is seen

- **Static**: whether a dependency wakes a device is computed from its sources in the environment that
  `--python` or `--site-packages` names; code without Python source is looked up in coldfork's knowledge base.
- **Runtime**: `coldfork probe MODULE` lists the imports that led to the waking line, outermost first; the
  import reported here is one of them.

## References

- Python, the import system:
  <https://docs.python.org/3/reference/import.html>
- trl pull request 3351, which imports deepspeed inside functions:
  <https://github.com/huggingface/trl/pull/3351>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import WAKING, Effect
from coldfork.model.findings import Finding, Severity
from coldfork.rules import eager_reexport
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "waking-import"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each import that wakes a device, except eager re-exports by packages."""
    for effect in case.observation.effects:
        if effect.imported is None or effect.kind not in WAKING or eager_reexport.is_reexport(effect):
            continue
        yield drafting.on_effect(
            effect,
            rule=NAME,
            message=f"{wording.wakes(effect, case.is_program(effect))} by importing {effect.imported.module}",
            consequence=wording.cost(effect, case.is_program(effect)),
            remedy=case.remedy(effect.remedy) or _remedy(effect),
        )


def _remedy(effect: Effect) -> str:
    assert effect.imported is not None
    name = effect.imported.module
    remedy = f"{wording.lazily(effect)}import {name} inside the function that uses it"
    if effect.imported.woken_elsewhere:
        remedy += ", or fix the waking line in it, which is reported too"
    return remedy
