"""Start, end and observe processes: scripts, workers, servers and watched programs.

Each folder starts or observes one kind of process; `plumbing` is what they are built on.
docs/contributing/rooms.md shows which process starts which, and what each descriptor is for.
"""
