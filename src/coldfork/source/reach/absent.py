"""Which packages the checked code cannot do without, and where no source of theirs was found."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable

from coldfork.source.files.modules_of_tests import is_test
from coldfork.source.program.program import Program


def absent_packages(program: Program, names: Iterable[str], path_of: Callable[[str], str]) -> tuple[str, ...]:
    """The packages that importing these modules needs and that were not found, the most imported first.

    An import in a `try`, under an `if` or in a function may be one that the code does without, and what
    tests import is not what its users install.
    """
    counts: Counter[str] = Counter()
    for name in names:
        module = program.module(name)
        if module is not None and not is_test(name, path_of(name)):
            beside = program.finder.beside.get(name, ())
            counts.update(package for package in module.outline.needs if package not in beside)
    return tuple(
        package
        for package, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if package not in sys.stdlib_module_names and program.finder.find(package) is None
    )
