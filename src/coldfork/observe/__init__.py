"""What happens to accelerators inside a running program: standard library only, never raises into it.

Nothing is imported here: what supervises a script needs a corner of this room, and starts for every script.
"""
