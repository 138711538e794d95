"""Recordings of watched programs: read, put together, summed up, and shown in every format."""
