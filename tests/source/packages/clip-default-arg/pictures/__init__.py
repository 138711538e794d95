from .reading import read

__all__ = ["read"]
