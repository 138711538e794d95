"""This process as its probes see it: threads, pools, and who woke what."""
