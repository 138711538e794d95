"""Wording that rules share: certainty, the position of a line, and the cost of a woken device."""

from __future__ import annotations

from coldfork.model.effects import Arrival, Effect, EffectKind, Position, Verdict

#: Runtimes that are not devices, but whose threads and locks break in a forked child.
_FORK_UNSAFE_RUNTIMES = frozenset({"openmp", "polars", "tokenizers", "jax-cpu"})

#: Accelerators that torch may report as not initialised although their driver is awake.
_TORCH_FLAG = {
    "cuda": "torch.cuda.is_initialized()",
    "rocm": "torch.cuda.is_initialized()",
    "xpu": "torch.xpu.is_initialized()",
}

_DEVICES = {"opencl": "an OpenCL device", "jax": "a JAX device"}

#: The first part of the remedy for an import that could be lazy in the target version.
LAZILY = "make the import lazy (with __lazy_modules__ where Pythons before 3.15 are supported too), or "

_VERBS = {Verdict.CERTAIN: "", Verdict.CONDITIONAL: "can ", Verdict.POSSIBLE: "may "}

_PLACES = {
    Position.MODULE: ("at module level", "at module level"),
    Position.CLASS_BODY: ("in a class body", "in the body of class {}"),
    Position.DECORATOR: ("in a decorator", "in a decorator of {}"),
    Position.DEFAULT_ARGUMENT: ("in a default argument", "in a default argument of {}"),
    Position.ANNOTATION: ("in an annotation", "in an annotation of {}"),
    Position.COMPREHENSION: ("in a comprehension", "in a comprehension"),
    Position.METACLASS: ("in a metaclass", "in the metaclass of {}"),
    Position.BASE_CLASS: ("in a base of a class", "in a base of class {}"),
    Position.IMPORT: ("in an import statement", "in an import statement"),
}

_ON_FIRST_USE = {
    Position.MODULE: "compute it on first use, in a function behind functools.cache",
    Position.CLASS_BODY: "compute it on first use, in a classmethod or a cached property",
    Position.DECORATOR: "ask inside the decorated function, not while the decorator is applied",
    Position.DEFAULT_ARGUMENT: "make the default None and ask inside the function",
    Position.ANNOTATION: "postpone annotations with `from __future__ import annotations`",
    Position.METACLASS: "compute it on first use, not while the class is made",
    Position.BASE_CLASS: "choose the implementation on first use, not while the class is made",
}


def verb(verdict: Verdict, certain: str, otherwise: str) -> str:
    """Return the verb of a title: `wakes` if that is certain, else `can wake` or `may wake`."""
    return certain if verdict is Verdict.CERTAIN else _VERBS[verdict] + otherwise


def doing(effect: Effect, runs: bool) -> str:
    """Return what causes the effect: importing the module, or running it if it is a program."""
    return f"{'running' if runs else 'importing'} {effect.module}"


def doer(effect: Effect) -> str:
    """Return the subject for an effect on processes: importing a module, a program, or a function."""
    start = effect.start
    if start is None or start.arrival is Arrival.IMPORT:
        return f"importing {effect.module}"
    if start.arrival is Arrival.PROGRAM or not effect.chain.steps:
        return start.origin.module
    return f"{effect.chain.steps[0].symbol}()"


def wakes(effect: Effect, runs: bool) -> str:
    """Return the title of a waking effect, made of subject, verb and device."""
    return f"{doing(effect, runs)} {verb(effect.verdict, 'wakes', 'wake')} {effect.accelerator}"


def where(effect: Effect) -> str:
    """Return the position of the line in words, with its class or function if the chain names one."""
    plain, named = _PLACES[effect.position]
    name = effect.chain.steps[0].symbol if effect.chain.steps else ""
    return named.format(name) if name and name != effect.module else plain


def cost(effect: Effect, runs: bool) -> str:
    """Return one sentence on why a woken device matters."""
    certain = effect.verdict is Verdict.CERTAIN
    always = "the process that runs this program" if runs else "every process that imports this module"
    subject = always if certain else "a process in which this happens"
    if effect.accelerator in _FORK_UNSAFE_RUNTIMES:
        return f"{subject} leaves behind locks and threads that break in a fork: forked workers can hang"
    sentence = f"{subject} can no longer fork workers that use {device(effect.accelerator)}"
    flag = _TORCH_FLAG.get(effect.accelerator)
    if effect.kind is EffectKind.INITIALISES_DRIVER and flag:
        sentence += f", although {flag} stays False"
    return sentence


def device(accelerator: str) -> str:
    """Return the name that users have for the device, such as `the GPU`."""
    return _DEVICES.get(accelerator, "the GPU")


def on_first_use(effect: Effect) -> str:
    """Return the remedy to defer the code at this position until first use, if there is no better call."""
    return _ON_FIRST_USE.get(effect.position, "compute it on first use")


def lazily(effect: Effect) -> str:
    """Return the first part of the remedy for an import that could be lazy in the target version."""
    if effect.imported is None or not effect.imported.may_be_lazy:
        return ""
    return LAZILY


def dotted(path: str) -> str:
    """Return the dotted module name for a path in a report."""
    stem = path.removesuffix(".py").removesuffix(".pyi").removesuffix("/__init__")
    return stem.replace("/", ".")
