"""What a terminal or a pipe can say: its letters, its colours, its width, the lines that draw a tree."""

from __future__ import annotations

from coldfork.report.shared.characters import Alphabet, alphabet, one_line
from coldfork.report.shared.options import Options


def _leave_plain(style: str, text: str) -> str:
    return text


class Sheet:
    """Writes foreign text safely, in colour where it is wanted."""

    def __init__(self, options: Options) -> None:
        self.letters: Alphabet = alphabet(options.encoding)
        self.paint = _leave_plain
        self._width = options.width
        if options.colour:
            from coldfork.report.shared.colour import paint

            self.paint = paint
        self.branch, self.last, self.trunk = self._drawn()

    def say(self, text: str) -> str:
        """Foreign text on one line."""
        return self.letters.clean(one_line(text))

    def cut(self, text: str, used: int = 0) -> str:
        """Foreign text on one line that ends where the terminal does."""
        return self.letters.cut(self.say(text), self.room(used))

    def room(self, used: int) -> int | None:
        """How many columns are left on a line; None where nothing is cut."""
        return None if self._width is None else max(20, self._width - used)

    def _drawn(self) -> tuple[str, str, str]:
        drawn = ("├─ ", "└─ ", "│  ")
        try:
            "".join(drawn).encode(self.letters.encoding)
        except UnicodeError:
            return ("|- ", "`- ", "|  ")
        return drawn
