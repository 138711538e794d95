from .engine import gather

__all__ = ["gather"]
