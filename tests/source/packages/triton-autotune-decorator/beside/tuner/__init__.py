from .tuning import tune

__all__ = ["tune"]
