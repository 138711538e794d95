"""Python source, read without running it: its syntax, its values, and the effects of importing a module."""
