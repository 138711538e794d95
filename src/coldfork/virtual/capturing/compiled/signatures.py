"""Find out what the kernels of a compiled graph read and write, from the source that torch's
compiler made.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_PARAMETERS = re.compile(r"\bkernel\s*\(([^)]*)\)")
_SCALARS = {"float": "float", "double": "float", "bool": "bool"}
_DIVISION = re.compile(r"[%/] *\(?(?:tmp|decltype|c10|static_cast)|\b(?:div|mod|fmod|remainder)\w*\(")
_INTEGER_VALUES = re.compile(r"int\d+_t\s?\*|convert<u?int")
_INTEGERS = re.compile(r"u?int\d+_t|long|int")


class UnreadableKernelError(Exception):
    """The compiler's source could not be understood; the message names the unclear part."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel."""

    name: str
    kind: str
    """Its type in C++."""

    @property
    def points(self) -> bool:
        """Whether the parameter takes a tensor."""
        return self.kind.endswith("*")

    @property
    def writes(self) -> bool:
        """Whether the kernel may write to the parameter's tensor."""
        return self.points and not self.kind.startswith("const ")

    @property
    def overwrites(self) -> bool:
        """Whether the kernel writes to the parameter's tensor without reading the previous content."""
        return self.writes and not self.name.startswith("in_out")

    def declared(self) -> str:
        """Return the parameter's declaration in the schema of an operator."""
        if self.overwrites:
            return f"Tensor({self.name}!) {self.name}"
        if self.points:
            return f"Tensor({self.name}!) {self.name}" if self.writes else f"Tensor {self.name}"
        kind = self.kind.removeprefix("const ").strip()
        scalar = _SCALARS.get(kind) or ("int" if _INTEGERS.fullmatch(kind) else None)
        if scalar is None:
            raise UnreadableKernelError(f"a kernel takes {self.kind} {self.name}")
        return f"{scalar} {self.name}"


@dataclass(frozen=True, slots=True)
class Signature:
    """The name of a kernel, and its parameters in the order of the call."""

    name: str
    parameters: tuple[Parameter, ...]
    divides: bool
    """Whether it may divide integers; meaningless ones may be 0, which would end the process."""

    @property
    def schema(self) -> str:
        """Return the arguments as an operator declares them; those that are only written are keywords, like
        `out=`.
        """
        given = [one.declared() for one in self.parameters if not one.overwrites]
        outs = [one.declared() for one in self.parameters if one.overwrites]
        return f"({', '.join([*given, *(['*'] if outs else []), *outs])}) -> ()"


def signatures(source: str) -> Iterator[Signature]:
    """Yield the kernels that a generated module defines."""
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        call, target = statement.value, statement.targets[0]
        if not isinstance(call.func, ast.Attribute) or not isinstance(target, ast.Name):
            continue
        maker = call.func.attr
        if maker == "cpp_pybinding":
            kinds, code = (ast.literal_eval(one) for one in call.args[:2])
            yield _signature(target.id, kinds, code)
        elif isinstance(call.func.value, ast.Name) and call.func.value.id == "async_compile":
            raise UnreadableKernelError(f"{target.id} was made by {maker}")


def _signature(name: str, kinds: list[str], code: str) -> Signature:
    found = _PARAMETERS.search(code, code.find('extern "C"'))
    names = [one.split()[-1].lstrip("*") for one in found[1].split(",")] if found else []
    if len(names) != len(kinds):
        raise UnreadableKernelError(f"{name} has {len(kinds)} parameters, but {len(names)} names")
    body = code[found.end() :] if found else ""
    divides = bool(_DIVISION.search(body) and _INTEGER_VALUES.search(" ".join((*kinds, body))))
    return Signature(name, tuple(map(Parameter, names, kinds)), divides)
