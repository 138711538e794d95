"""Environment variables that the followed code has set."""

from __future__ import annotations


class EnvironmentVariables:
    """What is known of `os.environ`: a variable that was set to something unknown is None."""

    __slots__ = ("key", "values")

    def __init__(self) -> None:
        self.values: dict[str, str | None] = {}
        self.key: tuple[tuple[str, str | None], ...] = ()
        """The same as a part of what calls are remembered by."""

    def begin(self, values: dict[str, str | None]) -> None:
        """Start over with the variables that are set when a module begins."""
        self.values = dict(values)
        self.key = _key(self.values)

    def set(self, name: str, value: str | None) -> None:
        """Set one variable."""
        self.values[name] = value
        self.key = _key(self.values)


def _key(values: dict[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(values.items(), key=str))
