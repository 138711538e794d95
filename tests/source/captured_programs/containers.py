"""Programs in which captured code puts things into containers, and takes them out."""

from __future__ import annotations

_STEP = """
def step(y, first=True, second=False, third=None):
    if not first:
        y.sum().item()
    if second:
        y.sum().item()
    if third is not None:
        y.sum().item()

"""


def _steps(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"{_STEP}def run(y):\n{lines}"


_BODIES = {
    "a list that is extended": "flags = [True]\nflags.extend([True])\nstep(y, *flags)",
    "a list that is extended by nothing": "flags = [False]\nflags.extend([])\nstep(y, *flags)",
    "a list that is extended by a tuple": "flags = []\nflags.extend((False, False))\nstep(y, *flags)",
    "a list that appends a list": "flags = [True, False]\nflags.append([])\nstep(y, *flags)",
    "a list in a list": "flags = [True, *[False, 1]]\nstep(y, *flags)",
    "a list in the middle of a list": "flags = [*[True], False, *()]\nstep(y, *flags)",
    "a tuple of a list": "flags = (*[False], True)\nstep(y, *flags)",
    "a list of a tuple": "flags = list((True, True))\nstep(y, *flags)",
    "an item of a list": "step(y, [True, False][1])",
    "an item of a tuple": "step(y, (True, False)[0])",
    "an item of a dictionary": "step(y, {'a': True, 'b': False}['b'])",
    "an item of a dictionary by number": "step(y, {0: True, 1: False}[0])",
    "an item that was replaced": "flags = [True]\nflags[0] = False\nstep(y, *flags)",
    "an item that was replaced by what does nothing": "flags = [False]\nflags[0] = True\nstep(y, *flags)",
    "an entry that was replaced": "o = {'first': True}\no['first'] = False\nstep(y, **o)",
    "an entry that was added": "o = {'first': True}\no['second'] = True\nstep(y, **o)",
    "an entry that is None": "o = {'third': None}\nstep(y, **o)",
    "a dictionary in a dictionary": "o = {'third': 1, **{'third': None}}\nstep(y, **o)",
    "a dictionary behind a dictionary": "o = {**{'third': None}, 'third': 1}\nstep(y, **o)",
    "a dictionary of keywords": "o = dict(first=True, second=True)\nstep(y, **o)",
    "what get gives": "step(y, {'a': False}.get('a'))",
    "what get gives for a key that is missing": "step(y, third={'a': 1}.get('b'))",
    "what get gives instead": "step(y, third={'a': None}.get('b', 1))",
    "what pop gives": "step(y, {'a': False}.pop('a'))",
    "what pop gives instead": "step(y, {'a': True}.pop('b', False))",
    "two names of one list": "flags = [True]\nsame = flags\nsame.append(True)\nstep(y, *flags)",
    "a copy that is unpacked": "first, second = (True, False)\nstep(y, first, second)",
    "what is unpacked in another order": "second, first = (True, False)\nstep(y, first, second)",
    "what is unpacked in depth": "(first, (second, third)) = (True, (True, None))\nstep(y, first, second)",
    "the items of a dictionary": "for k, v in {'a': 1}.items():\n    step(y, third=v)",
    "the items of a dictionary that are None": "for k, v in {'a': None}.items():\n    step(y, third=v)",
    "the values of a dictionary": "for v in {'a': False}.values():\n    step(y, v)",
    "a list of nothing": "for v in []:\n    step(y, False)",
    "the truth of an empty tuple": "if ():\n    step(y, False)",
    "the truth of a tuple": "if (0,):\n    step(y, False)",
    "the truth of a tuple of nothing but stars": "if (*(),):\n    step(y, False)",
}

#: `run(y)` is captured, and `y` is a tensor on the GPU.
CONTAINERS = {name: _steps(body) for name, body in _BODIES.items()}
