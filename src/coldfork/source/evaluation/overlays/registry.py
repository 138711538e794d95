"""Models of built-in functions and of the standard library, as far as an import may depend on them."""

from __future__ import annotations

from coldfork.source.evaluation.interpreter import Model
from coldfork.source.evaluation.overlays.builtin_functions import BUILTINS
from coldfork.source.evaluation.overlays.iteration import ITERATION
from coldfork.source.evaluation.overlays.launchers import LAUNCHERS
from coldfork.source.evaluation.overlays.paths import PATHS
from coldfork.source.evaluation.overlays.processes import PROCESSES
from coldfork.source.evaluation.overlays.stdlib import LIBRARY

#: Models by dotted name. They are asked before the knowledge base is, which may know the name too.
MODELS: dict[str, Model] = {**BUILTINS, **ITERATION, **LIBRARY, **PATHS, **PROCESSES, **LAUNCHERS}
