"""Find the devices that importing a module would wake, with `coldfork check` and without the import."""
