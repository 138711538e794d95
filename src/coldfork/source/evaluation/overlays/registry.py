"""Models of built-in functions and of the standard library, as far as an import may depend on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from coldfork.source.evaluation.overlays.builtin_functions import BUILTINS
from coldfork.source.evaluation.overlays.iteration import ITERATION
from coldfork.source.evaluation.overlays.stdlib import LIBRARY
from coldfork.source.evaluation.trace import Frame
from coldfork.source.values.kinds import Keywords, Value

if TYPE_CHECKING:
    from coldfork.source.evaluation.evaluator import Evaluator

#: What a call comes to; None where the model has nothing to say.
Model = Callable[["Evaluator", Frame, tuple[Value, ...], Keywords], Value | None]

#: Models by dotted name. They are asked before the knowledge base is, which may know the name too.
MODELS: dict[str, Model] = {**BUILTINS, **ITERATION, **LIBRARY}
