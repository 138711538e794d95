"""Rewrites newer syntax, in the same lines and columns, so that the running `ast` can parse it, and records
the changes.

A *hole* is a stretch that becomes `(0   )`: its original text is parsed separately, and put back into the
tree.
"""

from __future__ import annotations

from typing import NamedTuple

from coldfork.source.syntax.newer.tokens import Kind, Token, scan

#: A line, counted from 1, and a column in bytes.
Place = tuple[int, int]


class Hole(NamedTuple):
    """A part of the source that is replaced by a constant and parsed separately; if `strings` is empty, an
    expression.
    """

    start: int
    end: int
    strings: tuple[Token, ...]


class Rewritten(NamedTuple):
    """A source that older versions of Python can parse, and the parts to restore in its tree."""

    text: bytes
    holes: dict[Place, Hole]
    """The holes, by the position of the constant that replaces each."""
    type_parameters: dict[tuple[int, str], tuple[str, ...]]
    """The names of type parameters, by the line and the name of the class, function or alias."""
    aliases: frozenset[Place]
    """The positions of the names in `type` statements."""
    lazy: dict[Place, Place]
    """The position of each `import` or `from` after a `lazy`, with the position of the `lazy`."""
    unpacked: frozenset[Place]
    """The positions of comprehensions whose element is unpacked."""


def rewrite(source: bytes, *, every_string: bool) -> Rewritten:
    """Rewrite all newer syntax; with `every_string`, also f-strings that any Python seems to accept."""
    return _Rewriter(source, scan(source), every_string).rewritten()


class _Rewriter:
    def __init__(self, source: bytes, tokens: list[Token], every_string: bool) -> None:
        self._source = source
        self._text = bytearray(source)
        self._tokens = tokens
        self._every_string = every_string
        self._starts = [0]
        for index, byte in enumerate(source):
            if byte == 0x0A:
                self._starts.append(index + 1)
        self._holes: dict[Place, Hole] = {}
        self._parameters: dict[tuple[int, str], tuple[str, ...]] = {}
        self._aliases: set[Place] = set()
        self._lazy: dict[Place, Place] = {}
        self._unpacked: set[Place] = set()

    def rewritten(self) -> Rewritten:
        partners = _partners(self._tokens)
        at_start = True
        for index, token in enumerate(self._tokens):
            if token.kind is Kind.NAME:
                self._word(index, token, at_start, partners)
            elif token.kind is Kind.STRING:
                self._string(index, token)
            elif token.text in (b"*", b"**"):
                self._star(index, partners)
            # A colon outside brackets also begins a statement.
            at_start = token.kind is Kind.NEWLINE or token.text in (b";", b":")
        aliases, unpacked = frozenset(self._aliases), frozenset(self._unpacked)
        return Rewritten(bytes(self._text), self._holes, self._parameters, aliases, self._lazy, unpacked)

    def _word(self, index: int, token: Token, at_start: bool, partners: dict[int, int]) -> None:
        following = self._at(index + 1)
        if token.text in (b"class", b"def"):
            self._definition(index, token, partners)
        elif token.text == b"except":
            self._except(index)
        elif token.text == b"type" and at_start and following.kind is Kind.NAME:
            self._alias(index, partners)
        elif token.text == b"lazy" and at_start and following.text in (b"import", b"from"):
            self._fill(token.start, token.end, b"0;")
            self._lazy[self._place(following.start)] = self._place(token.start)

    def _definition(self, index: int, token: Token, partners: dict[int, int]) -> None:
        """Turn `class A[T](B):` into `class A(   B):`, where line ends stay inside brackets."""
        bracket = index + 2
        if self._at(bracket).text != b"[" or bracket not in partners:
            return
        close = partners[bracket]
        start, end, behind = self._tokens[bracket].start, self._tokens[close].end, self._at(close + 1)
        self._note_parameters(token.start, index + 1, bracket, close)
        if behind.text == b"(":
            self._fill(start, behind.end, b"(")
        else:
            self._fill(start, end, b"(", b")")

    def _alias(self, index: int, partners: dict[int, int]) -> None:
        """Turn `type A[T] = v` into the assignment `0;   A[0] = v`, whose bracket keeps line ends."""
        token, name, behind = self._tokens[index], self._at(index + 1), self._at(index + 2)
        if behind.text == b"[" and index + 2 in partners:
            close = partners[index + 2]
            self._note_parameters(name.start, index + 1, index + 2, close)
            first = self._at(index + 3)
            self._fill(behind.end, self._tokens[close].start, b"")
            self._fill(first.start, first.start + 1, b"0")
        elif behind.text != b"=":
            return
        self._fill(token.start, token.end, b"0;")
        self._aliases.add(self._place(name.start))

    def _note_parameters(self, owner: int, name: int, bracket: int, close: int) -> None:
        """Record the names in a list of type parameters; their bounds are evaluated only when needed."""
        names: list[str] = []
        depth, at_start = 0, True
        for token in self._tokens[bracket + 1 : close]:
            if at_start and token.kind is Kind.NAME:
                names.append(token.text.decode("utf-8", "replace"))
            at_start = depth == 0 and (token.text == b"," or (at_start and token.text in (b"*", b"**")))
            depth += (token.text in (b"(", b"[", b"{")) - (token.text in (b")", b"]", b"}"))
        line, _ = self._place(owner)
        called = self._tokens[name].text.decode("utf-8", "replace")
        self._parameters[line, called] = tuple(names)

    def _except(self, index: int) -> None:
        """Turn `except A, B:` into `except (0 ):`; the tuple is put back later."""
        first = index + 1 + (self._at(index + 1).text == b"*")
        depth, commas, last = 0, 0, first
        while last < len(self._tokens):
            token = self._tokens[last]
            if depth == 0 and token.text in (b":", b"as"):
                break
            if token.kind is Kind.NEWLINE:
                return
            commas += depth == 0 and token.text == b","
            depth += (token.text in (b"(", b"[", b"{")) - (token.text in (b")", b"]", b"}"))
            last += 1
        if commas and self._at(last).text == b":":
            self._dig(self._tokens[first].start, self._tokens[last - 1].end, ())

    def _string(self, index: int, token: Token) -> None:
        """Replace adjacent strings by a hole if the syntax of one of them is too new."""
        if index and self._tokens[index - 1].kind is Kind.STRING:
            return
        last = index
        while self._at(last + 1).kind is Kind.STRING:
            last += 1
        strings = tuple(self._tokens[index : last + 1])
        if any(self._too_new(one) for one in strings):
            self._dig(token.start, strings[-1].end, strings)

    def _too_new(self, token: Token) -> bool:
        formatted = token.formatted
        return formatted is not None and (self._every_string or formatted.nested or b"t" in token.prefix)

    def _star(self, index: int, partners: dict[int, int]) -> None:
        """Turn `[*a for a in b]` into `[ a for a in b]`, and record that the element is unpacked."""
        bracket = index - 1
        if bracket not in partners or index < 1:
            return
        depth = 0
        for token in self._tokens[index + 1 : partners[bracket]]:
            if depth == 0 and token.text == b",":
                return
            if depth == 0 and token.text == b"for" and token.kind is Kind.NAME:
                break
            depth += (token.text in (b"(", b"[", b"{")) - (token.text in (b")", b"]", b"}"))
        else:
            return
        star = self._tokens[index]
        self._fill(star.start, star.end, b"")
        self._unpacked.add(self._place(self._tokens[bracket].start))

    def _dig(self, start: int, end: int, strings: tuple[Token, ...]) -> None:
        self._fill(start, end, b"(0", b")")
        line, column = self._place(start)
        self._holes[line, column + 1] = Hole(start, end, strings)

    def _fill(self, start: int, end: int, head: bytes, tail: bytes = b"") -> None:
        """Replace a part by `head`, blanks and `tail`, keeping the part's line ends."""
        blank = bytes(0x0A if byte == 0x0A else 0x20 for byte in self._source[start:end])
        self._text[start:end] = head + blank[len(head) : len(blank) - len(tail)] + tail

    def _place(self, position: int) -> Place:
        low, high = 0, len(self._starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._starts[middle] <= position else (low, middle)
        return low + 1, position - self._starts[low]

    def _at(self, index: int) -> Token:
        if index < len(self._tokens):
            return self._tokens[index]
        return Token(Kind.NEWLINE, len(self._source), len(self._source), b"\n")


def _partners(tokens: list[Token]) -> dict[int, int]:
    """Return the closing bracket of every opening bracket, both as indexes."""
    opened: list[int] = []
    partners: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token.text in (b"(", b"[", b"{"):
            opened.append(index)
        elif token.text in (b")", b"]", b"}") and opened:
            partners[opened.pop()] = index
    return partners
