from graphs.flags import PLAIN_MATHS

__all__ = ["PLAIN_MATHS"]
