"""Servers: clean processes that have imported modules and fork other processes on request."""
