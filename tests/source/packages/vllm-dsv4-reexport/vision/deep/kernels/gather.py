"""A kernel written in a language of tiles."""

import tilelanguage  # expect: waking-import


def gather_rows(source, target):
    """Gather rows."""
    return tilelanguage.kernel(source).into(target)
