"""Recordings of programs: reads them, reconstructs and summarises the events, and shows them in
every format.
"""
