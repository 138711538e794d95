"""Decide by its looks whether a word is secret: whether it is random, or marked as a key by its issuer."""

from __future__ import annotations

#: Prefixes by which services mark their keys.
MARKS = (
    "hf_", "sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-",
    "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "npm_", "pypi-", "dckr_pat_", "nvapi-", "AKIA",
    "ASIA", "AIza", "ya29.", "eyJ", "SG.", "dop_v1_", "whsec_", "r8_", "gsk_",
)  # fmt: skip
_LONG_RUN = 16
_SHORT_RUN = 10
_RANDOM_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_-")
_SHORTEST_RANDOM = 20


def is_marked(word: str) -> bool:
    """Return True for a key with its issuer's prefix; `hf_hub_download`, for example, is just a function."""
    mark = next((mark for mark in MARKS if word.startswith(mark)), None)
    if mark is None:
        return False
    longest = run = 0
    digits = False
    for letter in word[len(mark) :]:
        run = run + 1 if letter.isalnum() else 0
        longest = max(longest, run)
        digits = digits or letter.isdigit()
    return longest >= _LONG_RUN or (digits and longest >= _SHORT_RUN)


def is_random(value: str) -> bool:
    """Return True for a word that looks random: long, in one piece, with letters and digits
    thoroughly mixed.
    """
    if (
        len(value) < _SHORTEST_RANDOM
        or not _RANDOM_ALPHABET.issuperset(value)
        or value.startswith(("/", "-"))
    ):
        return False
    # Paths of folders are not secrets, unless they contain one long piece.
    if any(len(part) < _SHORTEST_RANDOM for part in value.rstrip("=").split("/")) and value.count("/") > 1:
        return False
    digits = sum(character.isdigit() for character in value)
    turns = sum(value[at].isdigit() != value[at - 1].isdigit() for at in range(1, len(value)))
    mixed_case = any(c.islower() for c in value) and any(c.isupper() for c in value)
    few_joints = value.count("_") + value.count("-") < 3
    # The names of models are long and mixed, but have many short pieces.
    in_one_piece = (
        max(len(part) for part in value.replace("_", "-").replace("/", "-").split("-")) >= _SHORT_RUN
    )
    return (turns >= 5 and digits >= 3 and in_one_piece) or (mixed_case and turns >= 3 and few_joints)
