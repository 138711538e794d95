"""Pickles by value: functions and classes that another process cannot import, taken apart and made again."""
