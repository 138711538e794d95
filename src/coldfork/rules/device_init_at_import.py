"""Importing the module creates a device context.

## What it does

Reports a line that an import executes and that ends in a call which creates a context on an
accelerator: a CUDA or ROCm context, an XPU or OpenCL context, a JAX backend. Such lines occur at
module level, in class bodies, decorators, default arguments, annotations and comprehensions. The
finding lists every step from that line to the call.

## Why is this bad

A context belongs to the process that created it and does not survive `fork`. Once the import has
run, this process can no longer fork workers that use the device, and Python's default start method
on Linux is `fork` up to 3.13. The import also takes device memory and start-up time in processes
that never use the device, and freezes `CUDA_VISIBLE_DEVICES` before the program has had a chance to
set it.

Nobody who writes `import engine` expects this. The crash comes later and elsewhere, in a forked
child, and its traceback ends in the library instead of at the line to fix.

## Example

```python
class FlashAttentionBuilder:
    full_cudagraphs = get_flash_attn_version() == 3  # calls torch.cuda.get_device_capability()
```

What users see, in the forked worker:

```text
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing,
you must use the 'spawn' start method
```

## Use instead

Ask when the answer is first needed, and remember it:

```python
class FlashAttentionBuilder:
    @classmethod
    @functools.cache
    def full_cudagraphs(cls) -> bool:
        return get_flash_attn_version() == 3
```

Where only the compute capability or the device count is wanted, NVML knows both without a context.

## Fix safety

`coldfork check --fix` mends such a line according to its shape, and says why it leaves the others alone. A
constant becomes a function behind `functools.cache`, which its readers call; other modules get the value
through the module's `__getattr__`. Constants computed from it, and imports of it by other modules, are
deferred in the same way. An `if` or `try` that binds names becomes a function too, which binds them when they
are first used. A class attribute is computed when it is first read, and kept on the class. A default argument
becomes `None`, and the top of the body computes it. With `--fix=unsafe`, a decorator is applied by the first
call.

A fix is safe if the expression only asks about devices and its names are bound once. It is unsafe, and takes
`--fix=unsafe`, if it calls other code, if a call may pass `None` to the parameter, or if a base class may
inspect the attribute while the class is made. None is written if something reads the value at import anyway:
a class body, a dataclass, an enumeration, or a statement that does more than bind a name. Every file is
checked again before it is written: the finding has to be gone, without a new one.

A constant, a class attribute, and a default argument whose type leaves `None` out.

It is safe:

```diff
+import functools
+
 import torch

-CAPABILITY = torch.cuda.get_device_capability()
+
+@functools.cache
+def _capability():
+    return torch.cuda.get_device_capability()
+
+
+def __getattr__(name):
+    if name == "CAPABILITY":
+        return _capability()
+    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
+
+
+def _computed_once(compute):
+    \"\"\"A class attribute that is computed when it is first read, and kept from then on.\"\"\"
+
+    class Attribute:
+        def __set_name__(self, owner, name):
+            self.place = owner, name
+
+        def __get__(self, instance, owner=None):
+            value = compute()
+            setattr(*self.place, value)
+            bind = getattr(type(value), "__get__", None)
+            return value if bind is None else bind(value, instance, owner)
+
+    return Attribute()


 class Builder:
-    name = torch.cuda.get_device_name()
+    name = _computed_once(lambda: torch.cuda.get_device_name())

     def build(self) -> bool:
-        return CAPABILITY >= (9, 0)
+        return _capability() >= (9, 0)


-def load(path: str, device: torch.device = torch.device(torch.cuda.current_device())) -> str:
+def load(path: str, device: torch.device = None) -> str:
+    if device is None:
+        device = torch.device(torch.cuda.current_device())
     return f"{path} on {device}"
```

A default argument without an annotation that says what a call may pass.

It takes `--fix=unsafe`, because a call may pass None to `name`:

```diff
 import torch


-def load(path, name=torch.cuda.get_device_name()):
+def load(path, name=None):
+    if name is None:
+        name = torch.cuda.get_device_name()
     return path, name
```

## How it is seen

- **Static**: `coldfork check` follows the calls that an import executes through your package and
  its installed dependencies to a call known to create a context. `certain` means that every
  feasible path on the assumed machine (`--profile`) gets there; `conditional` quotes the condition;
  `possible` means that the path goes through a dynamic call that could not be narrowed down.
- **Runtime**: `coldfork probe MODULE` imports the module in a fresh interpreter and names the line,
  with `--virtual` on a machine without a GPU. `coldfork check --confirm` says for each finding
  whether it was seen to happen.

## References

- PyTorch, multiprocessing best practices:
  <https://pytorch.org/docs/stable/notes/multiprocessing.html>
- flashinfer pull request 3293, device properties queried at module level:
  <https://github.com/flashinfer-ai/flashinfer/pull/3293>
- CUDA driver API, contexts:
  <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.effects import EffectKind
from coldfork.model.findings import Finding, Severity
from coldfork.rules.findings import drafting, wording
from coldfork.rules.findings.drafting import Case

NAME = "device-init-at-import"
SEVERITY = Severity.ERROR


def judge(case: Case) -> Iterator[Finding]:
    """Report each device context that the module's own code creates at import."""
    for effect in case.observation.effects:
        if effect.imported is None and effect.kind is EffectKind.CREATES_CONTEXT:
            yield drafting.on_effect(
                effect,
                rule=NAME,
                message=wording.wakes(effect, case.is_program(effect)),
                consequence=wording.cost(effect, case.is_program(effect)),
                remedy=case.remedy(effect.remedy) or wording.on_first_use(effect),
            )
