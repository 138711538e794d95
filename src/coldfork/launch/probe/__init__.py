"""Imports modules in fresh interpreters and says which line woke what: `coldfork probe`."""
