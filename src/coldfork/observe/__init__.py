"""Observe accelerators inside a running program, with the standard library only, and raise no errors in it.

Nothing is imported here: a script's supervisor needs a small part of this folder, and starts for every
script.
"""
