"""Waiting, messages, starting, asking, streams and the kernel, for every part that starts processes."""
