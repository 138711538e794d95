"""Generated classes whose methods read a tensor: which of the reads are reached is for CPython to say.

Everything but the tensor is known: arguments, defaults, what is tested and what is matched. So there is one
way to go, through diamonds of bases, stars in calls, tests and cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

CONSTANTS = ("'a'", "'b'", "0", "1", "True", "False", "None", "(1, 2)", "'ab'", "2", "-1")
PATTERNS = (
    "'a'", "'b'", "0", "1", "True", "None", "_", "str()", "int()", "bool()", "tuple()", "(1, 2)", "[_, _]",
    "('a' | 'b')", "'a' | 0", "(1, other)", "[first, *tail]", "str() as named", "1 | 2", "{}", "(_, _, *_)",
)  # fmt: skip
READS = ("y.sum().item()", "z = y.item()", "print(y.sum().item())")
METHODS = ("first", "second", "third", "fourth")
_DEEPEST = 2


@dataclass(frozen=True)
class Shape:
    """The parameters of a method, which has the same ones in every class."""

    positional: tuple[str, ...]
    by_position: int
    """How many of them cannot be given by name."""
    star: bool
    keyword_only: tuple[str, ...]
    double_star: bool
    defaults: dict[str, str]

    @property
    def parameters(self) -> str:
        """What stands in the parentheses of its `def`."""
        parts = ["self", "y", *map(self._with_default, self.positional)]
        if self.by_position:
            parts.insert(2 + self.by_position, "/")
        if self.star or self.keyword_only:
            parts.append("*rest" if self.star else "*")
        parts += map(self._with_default, self.keyword_only)
        return ", ".join([*parts, "**more"] if self.double_star else parts)

    @property
    def handed_on(self) -> str:
        """The arguments with which the same method of a base gets what this one got."""
        parts = ["y", *self.positional, *(["*rest"] if self.star else [])]
        parts += [f"{name}={name}" for name in self.keyword_only]
        return ", ".join([*parts, "**more"] if self.double_star else parts)

    @property
    def names(self) -> tuple[str, ...]:
        """What its body can ask about."""
        return (*self.positional, *self.keyword_only, *(("rest",) if self.star else ()))

    def _with_default(self, name: str) -> str:
        return f"{name}={self.defaults[name]}" if name in self.defaults else name


class Program:
    """One program, drawn from a source of chance."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.shapes = {name: self._shape() for name in METHODS}

    def definitions(self) -> str:
        """Classes, and a `run` that calls a method of the last."""
        classes = self._bases()
        lines = [line for index, bases in enumerate(classes) for line in self._class(index, bases)]
        method = self.chance.choice(METHODS[:2])
        call = f"C{len(classes) - 1}().{method}({self._arguments(method)})"
        return "\n".join([*lines, "def run(y):", f"    {call}"])

    # -- shapes -------------------------------------------------------------------------------------

    def _shape(self) -> Shape:
        chance = self.chance
        positional = tuple(f"p{index}" for index in range(chance.randint(0, 3)))
        keyword_only = tuple(f"k{index}" for index in range(chance.randint(0, 2)))
        with_default = (
            *positional[chance.randint(0, len(positional)) :],
            *(name for name in keyword_only if chance.random() < 0.6),
        )
        return Shape(
            positional,
            chance.randint(0, len(positional)) if chance.random() < 0.25 else 0,
            chance.random() < 0.25,
            keyword_only,
            chance.random() < 0.25,
            {name: self._constant() for name in with_default},
        )

    def _bases(self) -> list[list[int]]:
        """The bases of each class, by their numbers, such that Python accepts them."""
        made: list[type] = []
        chosen: list[list[int]] = []
        for index in range(self.chance.randint(1, 5)):
            bases = self.chance.sample(range(index), min(index, self.chance.randint(0, 2)))
            try:
                made.append(type("C", tuple(made[base] for base in bases), {}))
            except TypeError:  # they contradict each other
                bases = bases[:1]
                made.append(type("C", tuple(made[base] for base in bases), {}))
            chosen.append(bases)
        return chosen

    # -- code ---------------------------------------------------------------------------------------

    def _class(self, index: int, bases: list[int]) -> Iterator[str]:
        yield f"class C{index}({', '.join(f'C{base}' for base in bases)}):"
        yield "    pass"
        for name in METHODS:
            if not bases or self.chance.random() < 0.45:
                yield f"    def {name}(self, {self.shapes[name].parameters.partition(', ')[2]}):"
                yield from self._block(name, 0, " " * 8)
                if bases and self.chance.random() < 0.5:
                    yield f"        super().{name}({self.shapes[name].handed_on})"
                yield "        return y"

    def _block(self, method: str, depth: int, indent: str) -> Iterator[str]:
        for _ in range(self.chance.randint(1, 2)):
            yield from self._statement(method, depth, indent)
            if self.chance.random() < 0.12:
                yield f"{indent}return y"
                return

    def _statement(self, method: str, depth: int, indent: str) -> Iterator[str]:
        kind = self.chance.random()
        names = self.shapes[method].names
        later = METHODS[METHODS.index(method) + 1 :]
        if kind < 0.3:
            yield indent + self.chance.choice(READS)
        elif kind < 0.5 and depth < _DEEPEST:
            yield f"{indent}if {self._test(names)}:"
            yield from self._block(method, depth + 1, indent + "    ")
            if self.chance.random() < 0.5:
                yield f"{indent}else:"
                yield from self._block(method, depth + 1, indent + "    ")
        elif kind < 0.75 and depth < _DEEPEST and names:
            yield f"{indent}match {self.chance.choice(names)}:"
            yield from self._cases(method, depth, indent + "    ")
        elif later:
            called = self.chance.choice(later)
            yield f"{indent}self.{called}({self._arguments(called)})"
        else:
            yield f"{indent}pass"

    def _cases(self, method: str, depth: int, indent: str) -> Iterator[str]:
        for _ in range(self.chance.randint(1, 3)):
            pattern = self.chance.choice(PATTERNS)
            guard = f" if {self._test(self.shapes[method].names)}" if self.chance.random() < 0.3 else ""
            yield f"{indent}case {pattern}{guard}:"
            yield from self._block(method, depth + 1, indent + "    ")
            if pattern == "_" and not guard:
                return

    def _test(self, names: tuple[str, ...]) -> str:
        if not names:
            return self.chance.choice(("True", "False", "y is None", "not y is None"))
        one, other = self.chance.choice(names), self.chance.choice(names)
        kinds = self.chance.choice(("str", "int", "tuple", "(str, bool)"))
        return self.chance.choice(
            (
                one,
                f"not {one}",
                f"{one} == {self._constant()}",
                f"{one} != {self._constant()}",
                f"{one} is None",
                f"{one} is not None",
                f"{one} in ({self._constant()}, {self._constant()})",
                f"{one} not in [{self._constant()}]",
                f"isinstance({one}, {kinds})",
                f"{one} and {other}",
                f"{one} or {other}",
                f"{one} == {other}",
            )
        )

    def _arguments(self, method: str) -> str:
        """Arguments that the method accepts: by position, by name, through stars, or left to defaults."""
        shape, chance = self.shapes[method], self.chance
        positional: list[str] = []
        named: dict[str, str] = {}
        for index, name in enumerate(shape.positional):
            left_out = name in shape.defaults and chance.random() < 0.4
            if left_out and index < shape.by_position:
                break
            if left_out:
                continue
            if len(positional) < index or (index >= shape.by_position and chance.random() < 0.35):
                if index >= shape.by_position:
                    named[name] = self._constant()
            else:
                positional.append(self._constant())
        for name in shape.positional[shape.by_position :]:
            given = name in named or name in shape.positional[: len(positional)]
            if not given and name not in shape.defaults:
                named[name] = self._constant()
        if len(positional) == len(shape.positional) and shape.star and chance.random() < 0.6:
            positional += [self._constant() for _ in range(chance.randint(1, 2))]
        for name in shape.keyword_only:
            if name not in shape.defaults or chance.random() < 0.5:
                named[name] = self._constant()
        if shape.double_star and chance.random() < 0.5:
            named["extra"] = self._constant()
        return ", ".join(["y", *self._by_position(positional), *self._by_name(named)])

    def _by_position(self, values: list[str]) -> list[str]:
        if not values or self.chance.random() < 0.6:
            return values
        start = self.chance.randint(0, len(values) - 1)
        end = self.chance.randint(start + 1, len(values))
        return [*values[:start], f"*({', '.join(values[start:end])},)", *values[end:]]

    def _by_name(self, values: dict[str, str]) -> list[str]:
        if not values or self.chance.random() < 0.6:
            return [f"{name}={value}" for name, value in values.items()]
        return ["**{" + ", ".join(f"{name!r}: {value}" for name, value in values.items()) + "}"]

    def _constant(self) -> str:
        return self.chance.choice(CONSTANTS)
