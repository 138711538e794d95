"""Knowledge as data: how libraries affect devices, and remedies, in a TOML file for each library."""
