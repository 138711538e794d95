"""Real packages against coldfork, each in an environment of its own: `./dev integration NAME`."""
