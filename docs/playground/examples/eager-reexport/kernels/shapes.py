"""Nothing here needs a device."""


def padded(length, multiple=128):
    return -(-length // multiple) * multiple
