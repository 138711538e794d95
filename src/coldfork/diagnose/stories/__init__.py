"""Stories. Each has one module, one page and one test file."""
