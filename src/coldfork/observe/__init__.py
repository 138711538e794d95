"""Observe accelerators inside a running program: standard library only, and never raising into it.

Nothing is imported here: a script's supervisor needs a small part of this folder, and starts for every
script.
"""
