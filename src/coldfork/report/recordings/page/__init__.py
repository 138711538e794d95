"""Recordings as one self-contained HTML file: no network, nothing unescaped, nothing to install."""
