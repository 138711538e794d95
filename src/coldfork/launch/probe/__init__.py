"""Import modules in fresh interpreters and report which line woke what: `coldfork probe`."""
