"""What importing a module would wake, as `coldfork check` says, without importing it."""
