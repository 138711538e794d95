"""A summary made of sentences of the text: those nearest to what it is about, and not to each other."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from speech_notes.engines.words import STOP

FEWEST, MOST = 2, 7
SHARE = 0.2
TOO_SHORT = 4

_SENTENCE = re.compile(r"(?<=[.?!…])['\"”’)\]]*\s+|\n+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

Vector = Mapping[str, float]


def split(text: str) -> list[str]:
    """The sentences of a punctuated text."""
    return [sentence.strip() for sentence in _SENTENCE.split(text) if sentence and sentence.strip()]


def summarise(text: str) -> list[str]:
    """The sentences that say most of what the text is about, in its order."""
    everything = split(text)
    telling = [place for place, sentence in enumerate(everything) if len(sentence.split()) >= TOO_SHORT]
    places = telling or list(range(len(everything)))
    wanted = _how_many(len(places))
    vectors = _vectors([everything[place] for place in places])
    picked = _pick(vectors, wanted)
    return [everything[places[one]] for one in sorted(picked)]


def _how_many(sentences: int) -> int:
    if sentences <= FEWEST:
        return min(sentences, 1)
    return min(MOST, max(FEWEST, round(sentences * SHARE)))


def _vectors(sentences: Sequence[str]) -> list[Vector]:
    """Each sentence as the weights of its words: rare ones weigh more, and the length does not count."""
    counted = [Counter(_telling_words(sentence)) for sentence in sentences]
    spread = Counter(word for words in counted for word in words)
    weigh = {word: math.log(1 + len(sentences) / within) for word, within in spread.items()}
    return [_unit({word: count * weigh[word] for word, count in words.items()}) for words in counted]


def _telling_words(sentence: str) -> list[str]:
    words = (word.lower().replace("’", "'") for word in _WORD.findall(sentence))
    return [_stem(word) for word in words if word not in STOP and len(word) > 1]


def _stem(word: str) -> str:
    """Without the ending of a plural, so that "speakers" is "speaker"."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _unit(vector: Vector) -> Vector:
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return {word: weight / length for word, weight in vector.items()} if length else {}


def _pick(vectors: Sequence[Vector], wanted: int) -> list[int]:
    """One after the other, the sentence nearest to the whole and farthest from those picked before."""
    middle: defaultdict[str, float] = defaultdict(float)
    for vector in vectors:
        for word, weight in vector.items():
            middle[word] += weight
    # What a sentence has in common with itself says nothing, and would favour short ones.
    nearness = [_likeness(vector, middle) - bool(vector) for vector in vectors]
    highest = max(nearness, default=0.0) or 1.0
    nearness = [near / highest for near in nearness]
    likeness = [0.0] * len(vectors)
    picked: list[int] = []
    while len(picked) < wanted:
        # The square: to share a word with one that was picked is no fault, to repeat it is.
        left = [place for place in range(len(vectors)) if place not in picked]
        best = max(left, key=lambda place: (nearness[place] - likeness[place] ** 2, -place))
        picked.append(best)
        likeness = [
            max(so_far, _likeness(vectors[place], vectors[best])) for place, so_far in enumerate(likeness)
        ]
    return picked


def _likeness(one: Vector, other: Vector) -> float:
    """The cosine of two vectors, the first of length one, up to the length of the second."""
    return sum(weight * other[word] for word, weight in one.items() if word in other)
