"""Deep models, chosen by the platform."""

from .model import DeepModel

__all__ = ["DeepModel"]
