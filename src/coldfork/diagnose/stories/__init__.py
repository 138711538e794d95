"""One story = one module = one page = one test file."""
