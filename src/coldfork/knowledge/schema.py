"""Reads a knowledge document, which is a TOML file or the user's own table, and reports its errors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from coldfork.knowledge.entries import (
    ACCELERATORS,
    ARGUMENT,
    DOES,
    HOW,
    KEYS,
    KINDS,
    NEEDS,
    NEWEST,
    OTHERWISE,
    SILENCES,
    TOP,
    AliasEntry,
    ArgumentEntry,
    EffectEntry,
    HarmlessEntry,
    Library,
    PerAccelerator,
    RaisesEntry,
    RemedyEntry,
    ReturnsEntry,
    ValueEntry,
    WrapsEntry,
    admits,
    near,
)
from coldfork.model.errors import KnowledgeError

E = TypeVar("E")


class Entry:
    """One table of a document; all error messages about it name the file and the entry."""

    def __init__(
        self, file: str, kind: str, number: int, table: Mapping[str, Any], distribution: str
    ) -> None:
        self.where: str = f"{file}, {kind} {number}{_first_name(table)}"
        self.table = table
        self.allow(KEYS[kind])
        self.distribution: str = self.string("distribution", distribution).lower().replace("_", "-")
        self.versions: str = self.string("versions", "")
        self.newest: bool = self._newest()
        self.source: str = self.string("source", "")

    def refuse(self, what: str) -> NoReturn:
        """Raise an error about this entry."""
        raise KnowledgeError(f"{self.where}: {what}")

    def allow(self, keys: Collection[str], within: Mapping[str, Any] | None = None) -> None:
        """Raise an error if the entry has an unknown key; suggest the closest known one."""
        for key in self.table if within is None else within:
            if key not in keys:
                self.refuse(f"unknown key {key!r}{near(key, keys)}")

    def one_of(self, key: str, value: object, allowed: Collection[str]) -> str:
        """Return `value`; raise an error unless it is one of the `allowed` strings."""
        if not isinstance(value, str) or value not in allowed:
            hint = near(str(value), allowed) or "; it is one of " + ", ".join(allowed)
            self.refuse(f"{key} cannot be {value!r}{hint}")
        return value

    def string(self, key: str, default: str | None = None) -> str:
        """Return the string under `key`."""
        value = self.table.get(key, default)
        if value is None:
            self.refuse(f"{key} is missing")
        if not isinstance(value, str):
            self.refuse(f"{key} must be a string, not {value!r}")
        return value

    def strings(
        self, key: str, default: tuple[str, ...] | None = None, within: Any = None
    ) -> tuple[str, ...]:
        """Return the list of strings under `key`; a single string counts as a list of one."""
        value = (self.table if within is None else within).get(key, default)
        if value is None:
            self.refuse(f"{key} is missing")
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) and item for item in value):
            self.refuse(f"{key} must be a list of names, not {value!r}")
        return tuple(value)

    def names(self, key: str) -> tuple[str, ...]:
        """Return the dotted names under `key`; the last part may be `*`, or end with `()` for a call's
        result.
        """
        found = self.strings(key)
        if not found:
            self.refuse(f"{key} must not be empty")
        for name in found:
            plain = name.removesuffix("()") if key in ("names", "calls", "methods") else name
            plain = plain if key == "names" else plain.removesuffix(".*")
            parts = plain.split(".")
            if key in ("names", "attributes"):  # an attribute of the object that a call returns
                parts = [part.removesuffix("()") for part in parts]
            if not all(part.isidentifier() for part in parts):
                self.refuse(f"{name!r} is not a dotted name; a `*` may only be the last part")
        return found

    def effect(self) -> EffectEntry:
        """Return this table as an `[[effect]]`."""
        given = [key for key in HOW if key in self.table]
        if len(given) != 1:
            self.refuse("needs exactly one of " + ", ".join(HOW))
        how = HOW[given[0]]
        if (how == "method") != ("receivers" in self.table):
            self.refuse("methods and receivers go together")
        accelerators = self.strings("accelerator")
        for name in accelerators:
            self.one_of("accelerator", name, ACCELERATORS)
        under = self.strings("under", ())
        for name in under:
            self.one_of("under", name, (*ACCELERATORS, OTHERWISE))
        only_if = self.strings("only_if", ())
        for name in only_if:
            self.one_of("only_if", name, SILENCES)
        return EffectEntry(
            how,
            self.names(given[0]),
            self.strings("receivers", ()),
            self.strings("except", ()),
            self.one_of("does", self.string("does"), DOES),
            accelerators,
            under,
            only_if,
            self._environment(),
            self._argument("argument"),
            self._arguments("unless_argument"),
            self.string("presumes", ""),
            self.distribution,
            self.versions,
            self.newest,
            self.source,
            self.string("remedy") if "remedy" in self.table else None,
            self.string("unversioned", ""),
            self.table.get("softens") is not False,
            self.string("when", ""),
            self.string("despite", ""),
        )

    def value(self) -> ValueEntry:
        """Return this table as a `[[value]]`."""
        if ("is" in self.table) == ("equals" in self.table):
            self.refuse("needs one of is, equals")
        key = "is" if "is" in self.table else "equals"
        told = self.table[key]
        by_machine = told if isinstance(told, Mapping) else {OTHERWISE: told}
        cases = tuple(self._case(key, machine, value) for machine, value in by_machine.items())
        # The catalogue uses the first case that fits, so the general one must come last.
        ordered = tuple(sorted(cases, key=lambda case: case[0] == OTHERWISE))
        return ValueEntry(
            self.names("names"), ordered, self.distribution, self.versions, self.newest, self.source
        )

    def raises(self) -> RaisesEntry:
        """Return this table as a `[[raises]]`."""
        needs = self.one_of("needs", self.string("needs"), NEEDS)
        return RaisesEntry(
            self.names("calls"),
            needs,
            self.string("presumes"),
            self.string("error", ""),
            self.distribution,
            self.versions,
            self.newest,
            self.source,
        )

    def harmless(self) -> HarmlessEntry:
        """Return this table as a `[[harmless]]`."""
        return HarmlessEntry(
            self.names("prefixes"), self.distribution, self.versions, self.newest, self.source
        )

    def returns(self) -> ReturnsEntry:
        """Return this table as a `[[returns]]`."""
        return ReturnsEntry(
            self.names("calls"),
            self.strings("except", ()),
            self.string("type"),
            self.distribution,
            self.versions,
            self.newest,
            self.source,
        )

    def wraps(self) -> WrapsEntry:
        """Return this table as a `[[wraps]]`."""
        keeps_value = self.table.get("keeps_value", False)
        if not isinstance(keeps_value, bool):
            self.refuse(f"keeps_value must be true or false, not {keeps_value!r}")
        return WrapsEntry(
            self.names("calls"),
            self.string("function"),
            keeps_value,
            self.distribution,
            self.versions,
            self.newest,
            self.source,
        )

    def alias(self) -> AliasEntry:
        """Return this table as an `[[alias]]`."""
        name, of = [self.string(key).lower().replace("_", "-") for key in ("name", "of")]
        return AliasEntry(name, of, self.source)

    def remedy(self) -> RemedyEntry:
        """Return this table as a `[[remedy]]`."""
        return RemedyEntry(self.string("id"), " ".join(self.string("text").split()))

    def _newest(self) -> bool:
        """Return whether the range has no upper bound; raise an error if it is malformed."""
        try:
            return admits(self.versions, NEWEST)
        except ValueError:
            self.refuse(f"versions is not a version range: {self.versions!r}")

    def _environment(self) -> tuple[str, str] | None:
        """Return the variable and the value that `unless_env` names."""
        table = self.table.get("unless_env")
        if table is None:
            return None
        if not isinstance(table, Mapping) or len(table) != 1:
            self.refuse(f"unless_env must be a table of one variable, not {table!r}")
        ((name, value),) = table.items()
        if not isinstance(value, str):
            self.refuse(f"unless_env holds strings, not {value!r}")
        return name, value

    def _argument(self, key: str) -> ArgumentEntry | None:
        """Return the argument test under `key`."""
        table = self.table.get(key)
        return None if table is None else self._test(key, table)

    def _arguments(self, key: str) -> tuple[ArgumentEntry, ...]:
        """Return the argument tests under `key`, which may be one test or a list."""
        told = self.table.get(key, [])
        return tuple(self._test(key, table) for table in (told if isinstance(told, list) else [told]))

    def _test(self, key: str, table: object) -> ArgumentEntry:
        """Return the argument test that a table describes."""
        if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
            self.refuse(f"{key} must be a table with a name, not {table!r}")
        self.allow(ARGUMENT, table)
        position = table.get("position")
        if position is not None and (not isinstance(position, int) or position < 0):
            self.refuse(f"position must be a number from 0, not {position!r}")
        return ArgumentEntry(
            table["name"],
            position,
            self._startswith(table),
            table.get("integers") is True,
            self.strings("through", (), table),
            self._equals(table),
            self.strings("endswith", (), table),
            self.strings("other_than", (), table),
            table.get("data") is True,
            table.get("negative") is True,
            table.get("empty") is True,
        )

    def _equals(self, table: Mapping[str, Any]) -> tuple[str | int | bool, ...]:
        """Return the constants that an argument must equal."""
        told = table.get("equals", [])
        values = told if isinstance(told, list) else [told]
        if not all(isinstance(value, (str, int)) for value in values):
            self.refuse(f"equals must list strings, numbers or truth values, not {told!r}")
        return tuple(values)

    def _startswith(self, table: Mapping[str, Any]) -> PerAccelerator:
        """Return the prefixes that an argument may begin with, by accelerator."""
        told = table.get("startswith", ())
        if not isinstance(told, Mapping):
            beginnings = self.strings("startswith", (), table)
            return ((OTHERWISE, beginnings),) if beginnings else ()
        for name in told:
            self.one_of("startswith", name, ACCELERATORS)
        return tuple((name, self.strings(name, None, told)) for name in told)

    def _case(self, key: str, machine: str, value: object) -> tuple[str, str, str | int | bool | None]:
        """Return one case of a value: the accelerator that it is for, its kind, and the constant."""
        self.one_of(key, machine, (*ACCELERATORS, OTHERWISE))
        if key == "is":
            kind = self.one_of("is", value, KINDS)
            return machine, kind, KINDS[kind]
        if not isinstance(value, (str, int)):
            self.refuse(f"equals must be a string, a number or a truth value, not {value!r}")
        return machine, "constant", value


def read(document: Mapping[str, Any], file: str) -> Library:
    """Return the entries in a parsed document; error messages refer to the document as `file`."""
    for key in document:
        if key not in TOP:
            raise KnowledgeError(f"{file}: unknown key {key!r}{near(key, TOP)}")
    return Library(
        tuple(_each(document, file, "effect", Entry.effect)),
        tuple(_each(document, file, "value", Entry.value)),
        tuple(_each(document, file, "raises", Entry.raises)),
        tuple(_each(document, file, "harmless", Entry.harmless)),
        tuple(_each(document, file, "returns", Entry.returns)),
        tuple(_each(document, file, "wraps", Entry.wraps)),
        tuple(_each(document, file, "remedy", Entry.remedy)),
        tuple(_each(document, file, "alias", Entry.alias)),
    )


def _each(document: Mapping[str, Any], file: str, kind: str, build: Callable[[Entry], E]) -> Iterator[E]:
    """Yield every entry of one kind in a document."""
    tables = document.get(kind, ())
    if not isinstance(tables, (list, tuple)):
        raise KnowledgeError(f"{file}: {kind} must be a list of tables, written [[{kind}]]")
    for number, table in enumerate(tables, 1):
        if not isinstance(table, Mapping):
            raise KnowledgeError(f"{file}, {kind} {number}: must be a table, not {table!r}")
        yield build(Entry(file, kind, number, table, str(document.get("distribution", ""))))


def _first_name(table: Mapping[str, Any]) -> str:
    """Return the first name in an entry, in brackets, to identify the entry in error messages."""
    for key in (*HOW, "names", "prefixes", "id"):
        names = table.get(key)
        if isinstance(names, str):
            return f" ({names})"
        if isinstance(names, (list, tuple)) and names:
            return f" ({names[0]})"
    return ""
