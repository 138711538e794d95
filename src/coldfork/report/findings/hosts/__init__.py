"""The formats of services and tools that show findings beside the code under review."""
