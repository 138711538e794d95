"""Processes that we start, and end: scripts, workers, servers, watched programs; and what is seen of others.

Each folder starts one kind of process or looks at one; `plumbing` is what they are built of. The picture of
who starts whom, and which descriptor says what, is drawn in docs/contributing/rooms.md.
"""
