"""Start processes and end them: scripts, workers, servers, watched programs; and observe others.

Each folder starts or observes one kind of process; `plumbing` is what they are built on.
docs/contributing/rooms.md shows which process starts which, and what each descriptor is for.
"""
