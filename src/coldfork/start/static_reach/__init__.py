"""Find what importing a module would wake, by `coldfork check`, without importing it."""
