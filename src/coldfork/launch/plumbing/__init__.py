"""Tools for all parts that start processes: waiting, messages, starting, asking, streams, kernel calls."""
