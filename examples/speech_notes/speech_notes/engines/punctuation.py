"""Punctuation and capitals by rules, for English as a speech recogniser leaves it: words, and nothing else.

A recogniser gives no full stops, so a sentence is taken to end where a new one very probably begins: before a
pronoun that can only be a subject, a question, or an opening word such as "so" with a subject behind it,
unless the word before binds ("I think | we ..."). Words are never added, removed, replaced or moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from speech_notes.engines.words import (
    ASKED,
    AUXILIARIES,
    BINDERS,
    COMMA_AFTER,
    DETERMINERS,
    FINITE,
    JOINTS,
    NOMINATIVE,
    OPENERS,
    PROPER,
    QUESTIONS,
    SUBJECTS,
    TIGHT,
)

SHORTEST = 4
"""A sentence of fewer words is not ended by a guess."""
LONG, TOO_LONG, LONGEST = 18, 35, 60
"""From so many words on, a new clause, any conjunction, any place at all is good enough to end a sentence."""
MARKED = 40
"""A text with a mark in every so many words was punctuated by somebody who heard it: no guesses are made."""

_ENDS = re.compile(r"[.?!…]['\"”’)\]]*$")
_OPEN = re.compile(r"[,;:\-–—]+$")
_EDGES = re.compile(r"^\W+|\W+$")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_FIRST_PERSON = re.compile(r"^(\W*)i((?:['’](?:m|ve|ll|d))?\W*)$")


def paragraphs(transcript: str) -> list[list[str]]:
    """The words of each paragraph; a blank line separates them, other line breaks mean nothing."""
    return [words for part in _PARAGRAPH.split(transcript) if (words := part.split())]


def sentences(words: Sequence[str]) -> Iterator[list[str]]:
    """The words of a paragraph, sentence for sentence."""
    plain = [_plain(word) for word in words]
    marks = sum(1 for word in words if _ENDS.search(word))
    guessing = marks * MARKED < len(words)
    start = 0
    for place in range(1, len(words)):
        if _ENDS.search(words[place - 1]) or (guessing and _begins(plain, place, place - start)):
            yield list(words[start:place])
            start = place
    if start < len(words):
        yield list(words[start:])


def passages(transcript: str, most: int) -> list[str]:
    """The transcript in pieces of whole sentences and of about `most` words."""
    found: list[str] = []
    for words in paragraphs(transcript):
        held: list[str] = []
        for sentence in sentences(words):
            if held and len(held) + len(sentence) > most:
                found.append(" ".join(held))
                held = []
            held += sentence
        if held:
            found.append(" ".join(held))
    return found


def punctuate(text: str) -> str:
    """The same words with full stops, question marks, a few commas, and capitals."""
    return "\n\n".join(
        " ".join(_written(sentence) for sentence in sentences(_calm(words))) for words in paragraphs(text)
    )


def _plain(word: str) -> str:
    return _EDGES.sub("", word).lower().replace("’", "'")


def _calm(words: list[str]) -> list[str]:
    """Put words recognised entirely in capitals into small letters."""
    text = " ".join(words)
    if text.isupper() and sum(1 for word in words if len(word) > 1) > SHORTEST:
        return [_small(word) for word in words]
    return words


def _small(word: str) -> str:
    lowered = word.lower()
    return lowered if lowered.casefold() == word.casefold() else word


def _begins(plain: Sequence[str], place: int, length: int) -> bool:
    """Whether a sentence begins at this word, `length` words after the one before has begun."""
    left = len(plain) - place
    if length < SHORTEST or left < 2:
        return False
    word, before, after = plain[place], plain[place - 1], plain[place + 1]
    if before in TIGHT:
        return False
    if _question(word, after) or word == "let's":
        return True
    if before in BINDERS:
        return False
    return (
        _subject(word, after)
        or (
            word in OPENERS
            and (after in SUBJECTS or after in DETERMINERS)
            and (word, after) != ("so", "that")
        )
        or (length >= LONG and word in JOINTS and after in NOMINATIVE)
        or (length >= TOO_LONG and word in JOINTS)
        or length >= LONGEST
    )


def _subject(word: str, after: str) -> bool:
    """Whether a word can only be the subject of a new clause here."""
    if word in NOMINATIVE:
        return True
    return word in SUBJECTS and (after in FINITE or word.endswith(("'s", "'re")))


def _question(word: str, after: str) -> bool:
    if word in QUESTIONS:
        return after in AUXILIARIES or after == "about" or "'" in word
    return word in AUXILIARIES and after in ASKED


def _written(sentence: list[str]) -> str:
    """One sentence with its marks and capitals."""
    plain = [_plain(word) for word in sentence]
    written = [_capital(word, bare) for word, bare in zip(sentence, plain, strict=True)]
    for place in range(len(written) - 1):
        if _comma_after(plain, place) and written[place][-1].isalnum():
            written[place] += ","
    written[0] = _upper_first(written[0])
    if not _ENDS.search(written[-1]):
        last = _OPEN.sub("", written[-1])
        written[-1] = (last or written[-1]) + ("?" if _asks(plain) else ".")
    return " ".join(written)


def _comma_after(plain: Sequence[str], place: int) -> bool:
    if place == 0:
        return plain[0] in COMMA_AFTER and (plain[1] in SUBJECTS or plain[1] in DETERMINERS)
    return place >= 2 and plain[place + 1] == "but" and place + 2 < len(plain)


def _asks(plain: Sequence[str]) -> bool:
    """Whether a sentence is a question, as far as its first words tell."""
    bare = list(plain)
    while len(bare) > 2 and (bare[0] in OPENERS or bare[0] in JOINTS):
        bare.pop(0)
    if len(bare) < 2:
        return False
    # "Do this" is none, "is this" is.
    inverted = bare[0] in AUXILIARIES - {"do", "have"} and bare[1] in SUBJECTS
    return inverted or _question(bare[0], bare[1])


def _capital(word: str, bare: str) -> str:
    if word.islower():
        first_person = _FIRST_PERSON.match(word)
        if first_person:
            return f"{first_person[1]}I{first_person[2]}"
        if bare in PROPER:
            return word.replace(bare, PROPER[bare])
    return word


def _upper_first(word: str) -> str:
    for place, letter in enumerate(word):
        if letter.isalnum():
            upper = letter.upper()
            # Some letters have no capital of their own that would be read as the same word.
            same = len(upper) == 1 and upper.casefold() == letter.casefold()
            mixed = word[place + 1 :] != word[place + 1 :].lower()
            return word if mixed or not same else word[:place] + upper + word[place + 1 :]
    return word
