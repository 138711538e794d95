"""Import modules in fresh interpreters, and report which line woke which accelerator: `coldfork probe`."""
