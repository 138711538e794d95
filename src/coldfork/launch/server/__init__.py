"""Servers: clean processes with modules already imported, which fork other processes on request."""
