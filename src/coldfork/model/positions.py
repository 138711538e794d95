"""Where import-time code stands."""

from __future__ import annotations

from enum import StrEnum


class Position(StrEnum):
    """The syntactic place of code that an import executes."""

    MODULE = "module"
    CLASS_BODY = "class-body"
    DECORATOR = "decorator"
    DEFAULT_ARGUMENT = "default-argument"
    ANNOTATION = "annotation"
    COMPREHENSION = "comprehension"
    METACLASS = "metaclass"
    BASE_CLASS = "base-class"
    IMPORT = "import"
