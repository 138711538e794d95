"""Tools for every part that starts processes: waiting, messages, starting, asking, streams, kernel calls."""
