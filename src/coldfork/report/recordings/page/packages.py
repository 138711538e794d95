"""The colours of packages: the same package has the same colour in every page."""

from __future__ import annotations

from zlib import crc32

#: How many colours the style has; it names them `--package-0` and so on.
COLOURS = 8


def package_of(module: str) -> str:
    """The top-level package of a module: `torch` of `torch.nn.functional`."""
    return module.partition(".")[0]


def colour_of(package: str) -> int:
    """The number of a package's colour; with more packages than colours some share one."""
    return crc32(package.encode("utf-8", "surrogatepass")) % COLOURS
