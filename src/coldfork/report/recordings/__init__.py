"""Recordings of programs: reads them, reconstructs and sums up the events, and shows them in every format."""
