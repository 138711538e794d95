"""A package's `__init__` imports one of its own modules whose import wakes a device.

## What it does

Reports an import in a package's `__init__` that pulls in a module of the checked code, when
importing that module wakes an accelerator. The finding says how many modules import the
package, and its chain names the modules in between and the call that wakes the device.

## Why is this bad

`import package.sub.leaf` executes the `__init__` of `package` and of `package.sub` first. An `__init__` that
re-exports for convenience therefore penalises all code that needs only a harmless leaf. One more line in such
an `__init__`, which looks like tidying up, can make a whole program unable to fork.

## Example

```python
# ops/__init__.py
from .dequant import dequant_gather  # imports cutlass, which calls cuInit

# worker.py
from ops.shapes import round_up  # runs ops/__init__.py, and the driver is awake
```

What users see, in the forked worker:

```text
RuntimeError: CUDA error: initialization error
```

`torch.cuda.is_initialized()` is `False` in the parent all along.

## Use instead

Leave the `__init__` empty and import the leaf modules where they are used:

```python
# ops/__init__.py is empty

# attention.py
from ops.dequant import dequant_gather
```

Where the short name has to stay, make it lazy (PEP 562):

```python
# ops/__init__.py
def __getattr__(name: str) -> object:
    if name == "dequant_gather":
        from .dequant import dequant_gather

        return dequant_gather
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
```

From Python 3.15 on, the import itself can be lazy: `lazy from .dequant import dequant_gather` happens when
the name is read. If older Pythons are supported as well, name the module in `__lazy_modules__` above the
import, as `f"{__name__}.dequant"`: they ignore the list.

## Fix safety

coldfork offers no automatic fix for this rule. Emptying the `__init__` breaks code that
imports the name from the package; making it lazy breaks `from package import *` unless `__all__`
stays, and hides the name from some type checkers.

## How it is seen

- **Static**: `coldfork check` follows import statements, parent packages included, to the waking call. An
  `if` around the import makes the finding conditional and is quoted. In the text output the finding belongs
  to the entry of the line that wakes the device. It has an entry of its own in two cases: if several files
  behind it import outside packages that wake the device, and mending this line alone keeps more modules cold
  than mending any one of those files; and, under a baseline, if it is a new way to an accepted line.
- **Runtime**: `coldfork probe PACKAGE` lists the imports that led to the waking line, outermost
  first; the re-export reported here is one of them.

## References

- PEP 562, module `__getattr__` and `__dir__`:
  <https://peps.python.org/pep-0562/>
- vLLM pull request 43791, which fixes an early CUDA initialisation:
  <https://github.com/vllm-project/vllm/pull/43791>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import WAKING, Effect, ImportOf
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "eager-reexport"
SEVERITY = Severity.ERROR


def is_reexport(effect: Effect) -> bool:
    """Return whether the effect is that a package's `__init__` imports a module of the checked code."""
    imported = effect.imported
    return imported is not None and imported.statement_in_init and imported.own


def judge(case: Case) -> Iterator[Finding]:
    """Report each waking import in a package's `__init__`, with the number of modules that run it."""
    for effect in case.observation.effects:
        if effect.imported is None or effect.kind not in WAKING or not is_reexport(effect):
            continue
        name = effect.imported.module
        wakes = wording.wakes(effect, case.is_program(effect))
        yield drafting.on_effect(
            effect,
            rule=NAME,
            message=f"{wakes}: its __init__ imports {name}; {_audience(effect.imported)}",
            consequence=wording.cost(effect, case.is_program(effect)),
            remedy=case.remedy(effect.remedy) or _remedy(effect),
        )


def _audience(imported: ImportOf) -> str:
    if imported.importers == 0:
        return "no checked module imports this package"
    if imported.importers == 1:
        return "1 module imports this package"
    return f"{imported.importers} modules import this package"


def _remedy(effect: Effect) -> str:
    assert effect.imported is not None
    return (
        f"{wording.lazily(effect)}empty this __init__ or make it lazy with a module __getattr__ (PEP 562), "
        f"and import {effect.imported.module} where it is used"
    )
