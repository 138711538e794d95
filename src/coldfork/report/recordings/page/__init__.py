"""A recording as one HTML file that needs nothing else: no network, no installation; all text is escaped."""
