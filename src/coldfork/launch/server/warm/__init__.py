"""Servers that have already imported the modules of scripts, and are kept ready between runs."""
