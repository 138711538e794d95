"""Recordings of watched programs: read, assembled, summed up, and shown in every format."""
