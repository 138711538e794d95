"""A server that needs shapes alone, and gets a device all the same."""

from kernels.shapes import padded


def admit(request):
    return padded(len(request))
