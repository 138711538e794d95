"""Find the modules that a server may import ahead of its workers: read their sources, try them, prove them in
forks.
"""
