"""Which way the execution goes: branches, truth tests, handlers, and what narrows a value."""
