"""A file in memory, by which one process hands another more than fits into a message."""

from __future__ import annotations

import os


def holding(name: str, *contents: bytes | memoryview) -> int:
    """The descriptor of one that holds these, to be read from its beginning; nothing lies on a disk."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        for content in contents:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
