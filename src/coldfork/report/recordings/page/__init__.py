"""A recording as one HTML file that needs no network and no installation; all foreign text is escaped."""
