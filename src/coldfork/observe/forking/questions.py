"""Ask another process which accelerators a function of this program is certain to touch, judging by its
source.

`BodyReach` asks once about each function, and again only if values that the function may read have changed.
The answer is kept on disk until one of the files that it was read from changes.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from coldfork.model.forking.judgement import NOTHING_KNOWN, Deed, Hold, held
from coldfork.observe.forking import variables
from coldfork.observe.late_imports import LATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import CodeType

    from coldfork.observe.forking.bodies import Body
    from coldfork.observe.forking.holding import Holding

    Question = dict[str, Any]
    Deeds = tuple[tuple[str, Deed], ...]
    Touches = list[dict[str, Any]]

DEADLINE = 5.0
"""How many seconds the reading of one function may take; after that, nothing counts as certain."""
_MOST_QUESTIONS = 3
"""How often to ask about one function if the values that it reads differ each time."""
_LARGEST = 1_000_000
_INSTALLED = ("site-packages", "dist-packages")
_OF_TORCH = {"torch": "", "coldfork": ""}


class BodyReach:
    """A client that asks another process about functions, and remembers the answers."""

    def __init__(self, deadline: float = DEADLINE) -> None:
        self._deadline = deadline
        self._asked: dict[tuple[CodeType | type | None, ...], dict[str, Deeds]] = {}
        """The answers about each function, by question."""

    def __call__(self, bodies: Iterable[Body]) -> dict[str, Deed]:
        """Return the accelerators that these functions are certain to touch, with the acts; never raise an
        error.
        """
        found: dict[str, Deed] = {}
        for body in bodies:
            try:
                for accelerator, deed in self._of(body):
                    found.setdefault(accelerator, deed)
            except Exception:
                # A function that cannot be described or read is not certain to touch anything.
                continue
        return found

    def _of(self, body: Body) -> Deeds:
        question = question_of(body)
        if question is None:
            return ()
        said = json.dumps(question, sort_keys=True)
        key = body.function.__code__, None if body.owner is None else type(body.owner)
        answers = self._asked.setdefault(key, {})
        if said not in answers and len(answers) >= _MOST_QUESTIONS and question.get("arguments"):
            # After many questions, ask once more with unknown arguments, which covers all others.
            said = json.dumps({**question, "arguments": None}, sort_keys=True)
            answers = self._asked.setdefault((*key, None), {})
        if said not in answers:
            if len(answers) >= _MOST_QUESTIONS or len(said) > _LARGEST:
                return ()
            # Stored before asking, so that a question that gets no answer is not asked again.
            answers[said] = ()
            answers[said] = tuple(self._answer(said, body.who))
        return answers[said]

    def _answer(self, said: str, who: str) -> list[tuple[str, Deed]]:
        return [
            (touch["accelerator"], Deed(who, touch["call"], tuple((p, n, f) for p, n, f in touch["steps"])))
            for touch in touches(said, self._deadline)
            if not variables.is_replaced(touch["call"], _OF_TORCH)
        ]


def known_deeds(found: Iterable[Holding], ask: Callable[[], Mapping[str, Deed]]) -> Mapping[str, Deed]:
    """Return what the child is certain to touch, if touching any of the held things raises an error."""
    raises = any(held(one.name, doubtful=one.doubtful).kind is Hold.DEVICE for one in found)
    return ask() if raises else NOTHING_KNOWN


def question_of(body: Body) -> Question | None:
    """Return the question about a function; None if its source is not the program's own."""
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
        "arguments": None if body.arguments is None else _arguments(body.arguments),
        "iterated": body.iterated,
        "modules": modules,
        "classes": classes,
        "files": files,
        "roots": roots,
        **_machine(),
    }


def _machine() -> Question:
    """Return the facts about this process that decide which entries of the catalogue apply."""
    return {
        "search": [
            folder for folder in map(os.path.abspath, sys.path) if os.path.basename(folder) in _INSTALLED
        ],
        "counted": bool(getattr(sys.modules.get("torch.cuda"), "_initialized", False)),
        "profile": profile(),
        "version": list(sys.version_info[:2]),
    }


def _arguments(given: Mapping[str, object]) -> Mapping[str, Any]:
    return {name: variables.as_argument(value) for name, value in given.items()}


def _attributes(owner: object) -> Mapping[str, Any]:
    """Return an object's attributes; those that multiprocessing sets in each process become unknown."""
    held = variables.of_object(owner)
    if any(f"{one.__module__}.{one.__name__}".endswith("process.BaseProcess") for one in type(owner).__mro__):
        return {name: None if name.startswith("_") else value for name, value in held.items()}
    return held


def _sources(module: str, file: str) -> tuple[list[str], dict[str, str]]:
    """Return the folders of the program's own modules, and the file of its package if it is installed."""
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


def profile() -> str:
    """Return the profile to assume: the one that the loaded PyTorch was built for, otherwise CUDA."""
    version = sys.modules.get("torch.version")
    if isinstance(getattr(version, "hip", None), str):
        return "rocm"
    return "xpu" if isinstance(getattr(version, "xpu", None), str) else "cuda"


def touches(question: str, deadline: float) -> Touches:
    """Return what the function is certain to touch; return nothing if the answer takes too long."""
    # Imported here, because most processes need neither another process nor the cache.
    LATE.load("coldfork.observe.kept_files")
    LATE.load("coldfork.observe.processes.asking")
    from coldfork import __version__
    from coldfork.observe.kept_files import KeptFile, digest
    from coldfork.observe.processes.asking import ask_our_own

    kept = KeptFile.of("bodies", digest((question, *sys.version_info, __version__)))
    known = kept.read()
    if known is not None and known.get("stamp") == _stamp(known.get("files", ())):
        return list(known["touches"])
    done = None
    if sys.executable:
        done = ask_our_own((sys.executable, "-P", "-m", "coldfork.source.bodies"), question, deadline)
    if done is None or done.returncode:
        return []
    answer = json.loads(done.stdout)
    found = list(answer.get("touches", ()))
    if "files" in answer:
        kept.write({"touches": found, "files": answer["files"], "stamp": _stamp(answer["files"])})
    return found


def _stamp(files: Iterable[str]) -> str:
    """Return a stamp that changes with the files that the answer was read from."""
    from coldfork.observe.kept_files import digest

    return digest(tuple((file, *_times(file)) for file in sorted(files)))


def _times(file: str) -> tuple[int, int]:
    try:
        status = os.stat(file)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


# Shared by the whole process, so that each function is read only once.
BODIES = BodyReach()
