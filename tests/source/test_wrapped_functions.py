"""Functions that JAX makes of others: making one is free, calling it starts the backends. JAX is the judge.

Programs are put together from makers, ways by which what they make gets to where it is used, and uses. Every
snippet is executed in a fresh process: if JAX has backends then, its line has to be reported as certain, and
nothing may be reported where it has none.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.amounts import examples
from tests.source.expectations import Setting, answers_of, findings_of, lay_out

EXAMPLES = examples(30)
TOGETHER = 15

PRELUDE = """\
import functools
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax import grad, jit, vmap

def double(x):
    return x * 2.0

@jax.custom_jvp
def smooth(x):
    return x * 3.0

@smooth.defjvp
def smooth_rule(primals, tangents):
    return smooth(*primals), tangents[0] * 3.0

def apply(function, *given):
    return function(*given)

def factory(maker):
    def made(function):
        return maker(function)
    return made

def keep(function):
    @functools.wraps(function)
    def kept(*given):
        return function(*given)
    return kept

class Holder:
    def __init__(self, function):
        self.function = function
    def run(self, *given):
        return self.function(*given)

class Net:
    scale = 2.0
    @jax.jit
    def go(x):
        return x
    @partial(jax.jit, static_argnums=0)
    def forward(self, x):
        return x * self.scale
    def eager(self, x):
        return x * self.scale
"""

#: Makers that can stand on top of each other, by what they are applied to.
INNER = (
    "jax.jit({})",
    "jit({})",
    "grad({})",
    "jax.grad({})",
    "jax.jacfwd({})",
    "jax.jacrev({})",
    "jax.jit(static_argnames=())({})",
    "jax.jacfwd(fun={})",
    "partial(jax.jit, inline=True)({})",
    "factory(jax.jit)({})",
    "keep(jax.jit({}))",
    "jax.named_call({})",
)
OUTER = (
    *INNER,
    "jax.hessian({})",
    "jax.value_and_grad({})",
    "vmap({})",
    "jax.vmap({})",
    "jax.checkpoint({})",
)
PLAIN = ("double", "smooth", "lambda x: x * 5.0", "Net().eager")
WAYS = (
    "U = {use}",
    "M = {made}; U = {use_m}",
    "H = Holder({made}); M = H.function; U = {use_m}",
    "D = {{'f': {made}}}; U = (lambda M: {use_m})(D['f'])",
    "L = [{made}]\n    for M in L:\n        U = {use_m}",
    "def inner(M={made}):\n        return {use_m}\n    U = inner()",
    "M = {made} if len('a') == 1 else None; U = {use_m}",
    "M, _ = {made}, 1; U = {use_m}",
    "class C:\n        made = staticmethod({made})\n    M = C.made; U = {use_m}",
)
CALLS = ("{}(A)", "apply({}, A)", "Holder({}).run(A)", "partial({}, A)()", "list(map({}, [A]))", "({})(*[A])")
INNOCENT = (
    "callable({})",
    "jax.eval_shape({}, A)",
    "jax.make_jaxpr({})(A)",
    "[{}]",
    "(lambda: {}(A))",
    "partial({}, A)",
    "Holder({})",
)
OTHERS = (
    "U = Net().forward(1.0)",
    "U = Net.go(1.0)",
    "U = Net().forward",
    "U = Net().eager(1.0)",
    "U = smooth(1.0)",
    "U = jax.jit(double).lower(1.0)",
    "U = jax.jit(double).trace(1.0)",
    "U = jax.jit(double).__wrapped__(1.0)",
    "U = jnp.vectorize(double)",
    "U = jnp.vectorize(double)(1.0)",
    "V, G = jax.value_and_grad(double)(1.0)",
    "U = jax.custom_gradient(lambda x: (x, lambda g: g))(1.0)",
    "U = jax.jvp(double, (1.0,), (1.0,))",
    "U = jax.tree_util.tree_map(lambda x: x, {'a': 1.0})",
    "U = jax.ShapeDtypeStruct((1,), np.float32)",
    "U = jax.debug.print",
)


def snippet(draw: random.Random) -> str:
    """One use of what a maker made, with its argument."""
    made = f"({draw.choice(PLAIN)})"
    for _ in range(draw.choice((0, 0, 1))):
        made = draw.choice(INNER).format(made)
    made = draw.choice(OUTER).format(made)
    argument = "np.ones(3)" if "vmap(" in made else "1.0"
    use = draw.choice(CALLS + INNOCENT)
    way = draw.choice(WAYS).format(made=made, use=use.format(made), use_m=use.format("M"))
    return f"def case():\n    A = {argument}\n    {way}\ncase()  #"


ORACLE = """
import json, os, sys
import jax
from jax._src import xla_bridge
prelude, *snippets = json.load(sys.stdin)
space = {}
exec(prelude, space)
assert not xla_bridge._backends
answers = []
for snippet in snippets:
    reading, writing = os.pipe()
    if not os.fork():
        try:
            exec(snippet, space)
            answer = b"warm" if xla_bridge._backends else b"cold"
        except BaseException as problem:
            answer = repr(problem).encode()
        os.write(writing, answer)
        os._exit(0)
    os.close(writing)
    answers.append(os.read(reading, 4096).decode())
    os.close(reading)
    os.wait()
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def judged() -> tuple[list[str], list[str]]:
    """The snippets, and what JAX says of each."""
    pytest.importorskip("jax")
    draw = random.Random(20261124 + EXAMPLES)
    snippets = [f"def case():\n    {other}\ncase()  #" for other in OTHERS]
    snippets += [snippet(draw) for _ in range(EXAMPLES)]
    return snippets, answers_of(ORACLE, [PRELUDE, *snippets], {"JAX_PLATFORMS": "cpu"})


@pytest.mark.once
@pytest.mark.parametrize("beside", [False, True], ids=["without-jax", "with-its-source"])
def test_calling_what_a_maker_made_wakes_where_jax_says_so(
    beside: bool, judged: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    jax = pytest.importorskip("jax")
    snippets, answers = judged
    marks = []
    for number in range(0, len(snippets), TOGETHER):  # one large module would use up its steps
        name, text = f"m{number}.py", PRELUDE + "\n".join(snippets[number : number + TOGETHER])
        lay_out(f"### {name}\n{text}\n", tmp_path)
        marks += [(name, line) for line, end in enumerate(text.split("\n"), 1) if end.endswith("#")]
    if beside:
        (tmp_path / "beside").symlink_to(Path(jax.__file__).parent.parent)
    findings = findings_of(tmp_path, Setting(profile="jax-gpu", runs=False))
    told = {(one.path, one.line): one.verdict.value for one in findings}
    wrong = [
        f"{answer}, and {told.get(place, 'nothing')} was said:\n{text}"
        for place, text, answer in zip(marks, snippets, answers, strict=True)
        if answer not in ("warm", "cold") or (answer == "warm") != (told.get(place) == "certain")
    ]
    assert not wrong, "\n".join(wrong)
    assert 0.2 < answers.count("warm") / len(answers) < 0.8
