"""From the lines of a recording to the lives of its processes."""
