"""Formats for services and tools that show findings beside the code under review."""
