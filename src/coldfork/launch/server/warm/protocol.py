"""What a client, the keeper and its servers tell each other, and in which order descriptors travel.

A client connects to the keeper's socket, asks, and hears the answer on the same connection. To have a script
started, it sends along everything that the script's supervisor needs. The keeper hands that on to a server
with the connection itself; what the server forks says `ready` on it, and begins when the client says `go`.
So a client that has given up, and started its script in the usual way, never has it run twice.
"""

from __future__ import annotations

PLAN, CIRCUMSTANCES, CONTROL, LOCK, CALLER, STDIN, STDOUT, STDERR = range(8)
"""The places, among the descriptors of a request to start, of what the supervisor needs."""
FACTS = 8
"""And of what the keeper reads: on which terms the server must have been started."""
OF_A_START = 9

SPARE = "COLDFORK_SPARE"
"""A variable of a server, by which what its imports have left is found. In the process of a script that one
stands in its place by which the script is found.
"""
SPARE_ROOM = 96
"""So long its value is at least."""
PRESENT = 1
"""The version of all this; who speaks another is not understood."""
CIRCUMSTANCES_READ = 6
"""The descriptor by which a supervisor reads the circumstances of its caller."""

LISTENING = 3
"""The keeper's descriptor of the socket that clients connect to, made by who starts the keeper."""
KEEPER, TERMS = 6, 7
"""A server's: the socket to the keeper, whose end means that it is wanted no more, and what it is to do."""
ROOM = 1024
"""So many bytes a server is started with in which a script's command line is shown."""
