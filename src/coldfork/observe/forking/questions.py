"""What calling a function of this program is certain to touch, as another process reads it in the sources.

`BodyReach` asks once for a function, and again only if what the function may read has changed.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coldfork.model.forking.judgement import NOTHING_KNOWN, Deed, Hold, held
from coldfork.observe.forking import variables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import CodeType

    from coldfork.observe.forking.bodies import Body
    from coldfork.observe.forking.holding import Holding

    Question = dict[str, Any]
    Deeds = tuple[tuple[str, Deed], ...]

DEADLINE = 5.0
"""So many seconds the reading of one function may take; after that nothing is certain of it."""
_MOST_QUESTIONS = 3
"""A function is asked about so often, if what it reads differs each time."""
_LARGEST = 1_000_000
_INSTALLED = ("site-packages", "dist-packages")
_OF_TORCH = {"torch": "", "coldfork": ""}


@dataclass(slots=True)
class _Asked:
    """What was asked about one function, and what the answers were."""

    answers: dict[str, Deeds]


class BodyReach:
    """Asks about functions in another process, and remembers the answers."""

    def __init__(self, deadline: float = DEADLINE) -> None:
        self._deadline = deadline
        self._asked: dict[tuple[CodeType, type | None], _Asked] = {}

    def __call__(self, bodies: Iterable[Body]) -> dict[str, Deed]:
        """The accelerators that these are certain to touch, each with who does and where; never raises."""
        found: dict[str, Deed] = {}
        for body in bodies:
            try:
                for accelerator, deed in self._of(body):
                    found.setdefault(accelerator, deed)
            except Exception:
                # Nothing is certain of what cannot be described, or read.
                continue
        return found

    def _of(self, body: Body) -> Deeds:
        question = question_of(body)
        if question is None:
            return ()
        said = json.dumps(question, sort_keys=True)
        if len(said) > _LARGEST:
            return ()
        key = body.function.__code__, None if body.owner is None else type(body.owner)
        asked = self._asked.setdefault(key, _Asked({}))
        if said not in asked.answers:
            if len(asked.answers) >= _MOST_QUESTIONS:
                return ()
            # Before the answer: what came to no end once is not waited for again.
            asked.answers[said] = ()
            asked.answers[said] = tuple(self._answer(said, body.who))
        return asked.answers[said]

    def _answer(self, said: str, who: str) -> list[tuple[str, Deed]]:
        # Only here: a process that holds nothing needs neither another process nor the cache.
        from coldfork.observe.forking import answers

        return [
            (touch["accelerator"], Deed(who, touch["call"], tuple((p, n, f) for p, n, f in touch["steps"])))
            for touch in answers.touches(said, self._deadline)
            if not variables.is_replaced(touch["call"], _OF_TORCH)
        ]


def known_deeds(found: Iterable[Holding], ask: Callable[[], Mapping[str, Deed]]) -> Mapping[str, Deed]:
    """What the child is certain to touch; asked only where it would get an error for it."""
    raises = any(held(one.name, doubtful=one.doubtful).kind is Hold.DEVICE for one in found)
    return ask() if raises else NOTHING_KNOWN


def question_of(body: Body) -> Question | None:
    """The question about a function; None where its source is none of the program's own."""
    code = body.function.__code__
    file, module = os.path.abspath(code.co_filename), body.function.__module__
    top = module.partition(".")[0]
    if top == "torch":
        return {**_machine(), "library": f"{module}.{code.co_qualname}"}
    if top in sys.stdlib_module_names and top != "__main__":
        return None
    if not os.path.isfile(file):
        return None
    roots, files = _sources(module, file)
    own = variables.loaded_from(roots, (name.partition(".")[0] for name in (module, *files)))
    modules, classes = variables.of_modules(own)
    owner = None if body.owner is None or isinstance(body.owner, type) else body.owner
    return {
        "file": file,
        "module": module,
        "function": code.co_qualname,
        "line": code.co_firstlineno,
        "code": code.co_code.hex(),
        "closure": variables.of_closure(body.function),
        "owner": None if owner is None else [type(owner).__module__, type(owner).__qualname__],
        "attributes": {} if owner is None else _attributes(owner),
        "iterated": body.iterated,
        "modules": modules,
        "classes": classes,
        "files": files,
        "roots": roots,
        **_machine(),
    }


def _machine() -> Question:
    """What decides which of the libraries' facts hold here."""
    from coldfork.observe.forking.other_process import profile

    return {
        "search": [
            folder for folder in map(os.path.abspath, sys.path) if os.path.basename(folder) in _INSTALLED
        ],
        "counted": bool(getattr(sys.modules.get("torch.cuda"), "_initialized", False)),
        "profile": profile(),
        "version": list(sys.version_info[:2]),
    }


def _attributes(owner: object) -> Mapping[str, Any]:
    """What an object holds; of a process, what multiprocessing keeps in it differs each time."""
    held = variables.of_object(owner)
    if any(f"{one.__module__}.{one.__name__}".endswith("process.BaseProcess") for one in type(owner).__mro__):
        return {name: None if name.startswith("_") else value for name, value in held.items()}
    return held


def _sources(module: str, file: str) -> tuple[list[str], dict[str, str]]:
    """The folders of the program's own modules, and the file of the package if it was installed."""
    root = os.path.dirname(file)
    if module != "__main__":
        inside = module.count(".") + (os.path.basename(file) == "__init__.py")
        for _ in range(inside):
            root = os.path.dirname(root)
    if any(part in _INSTALLED for part in root.split(os.sep)):
        top = module.partition(".")[0]
        origin = getattr(sys.modules.get(top), "__file__", None)
        return [], {top: origin} if isinstance(origin, str) else {}
    standard = os.path.dirname(os.__file__)
    beside = [os.path.abspath(folder) for folder in sys.path if os.path.isdir(folder or os.curdir)]
    own = [one for one in beside if not one.startswith(standard) and os.path.basename(one) not in _INSTALLED]
    return list(dict.fromkeys([root, *own])), {}


# One for the process, whoever asks: a function is read once.
BODIES = BodyReach()
