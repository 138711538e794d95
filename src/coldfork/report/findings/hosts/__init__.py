"""The formats of services and tools that show findings next to the code under review."""
