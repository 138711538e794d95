"""A question about one function: where it stands, and what its process holds that it may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coldfork.source.values.kinds import UNKNOWN, Const, External, Value

Given = Mapping[str, Any]
"""Names with what they hold: `{"is": 3}` for a constant, `{"device": "cpu"}`, None for anything else."""


@dataclass(frozen=True, slots=True)
class Question:
    """One function, as the process that would run it describes it."""

    file: str
    module: str
    """The name of the module that the function is defined in."""
    function: str
    """Its qualified name, as the interpreter has it."""
    line: int
    """Where its code begins; the first decorator counts."""
    code: str
    """The instructions, in hexadecimal digits: the file may have changed since it was loaded."""
    closure: Given
    """The variables of the functions around it."""
    owner: tuple[str, str] | None
    """Module and qualified name of the class whose object is called; None for a plain function."""
    attributes: Given
    """What that object holds."""
    iterated: bool
    """Whether what the call returns is iterated, until it yields for the first time."""
    modules: Mapping[str, Given]
    """What the modules hold whose sources may be followed."""
    classes: Mapping[str, Mapping[str, Given]]
    """What their classes hold."""
    files: Mapping[str, str]
    """The files of modules that stand in no folder of `roots` under their name."""
    roots: tuple[str, ...]
    """The folders of the sources that may be followed."""
    search: tuple[str, ...]
    """Where the libraries are; only their versions are looked at."""
    counted: bool
    """Whether PyTorch has counted the devices in the process."""
    profile: str
    version: tuple[int, int]

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Question:
        """The question in what was sent."""
        tuples = {name: tuple(said[name]) for name in ("roots", "search", "version")}
        owner = said["owner"]
        return cls(**{**said, **tuples, "owner": None if owner is None else tuple(owner)})


def value_of(given: Any) -> Value:
    """What is known of a variable that holds this."""
    match given:
        case {"is": value}:
            return Const(value)
        case {"device": str(name)}:
            return External(f"torch.device({name})")
    return UNKNOWN


def values_of(given: Given) -> dict[str, Value]:
    """What is known of some variables."""
    return {name: value_of(one) for name, one in given.items()}
