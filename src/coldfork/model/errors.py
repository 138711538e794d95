"""The errors coldfork raises on purpose: one base class, each says when you get it."""

from __future__ import annotations


class ColdforkError(Exception):
    """Base of every error that coldfork raises on purpose."""


class UsageError(ColdforkError):
    """You asked for something that cannot be done as asked: a missing path, an unknown name."""


class ConfigurationError(ColdforkError):
    """`[tool.coldfork]` holds a key or a value that means nothing; the message suggests the near match."""


class KnowledgeError(ColdforkError):
    """An entry of the knowledge base, built in or yours, is malformed; the message names file and entry."""
