"""The C sources of the virtual driver and of the virtual management library."""
