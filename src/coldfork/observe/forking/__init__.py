"""The examination of a fork: things that the process holds, the child's purpose, and its touches."""
