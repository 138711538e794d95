"""Knowledge as data: how libraries affect devices, and remedies, in one TOML file for each library."""
