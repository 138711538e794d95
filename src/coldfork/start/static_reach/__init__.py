"""Find the devices that importing a module would wake, by `coldfork check` and without the import."""
