"""Python processes that run already, seen from outside: nothing is stopped, and nothing runs inside them."""
