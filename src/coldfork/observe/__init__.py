"""Observe accelerators inside a running program, using only the standard library, without raising errors in
it.

Nothing is imported here, because a supervisor starts for every script and needs only a small part of this
folder.
"""
