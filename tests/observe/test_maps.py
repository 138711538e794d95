"""The memory map of this process: what is read from it is what the C library and the kernel say."""

from __future__ import annotations

import ctypes
import sys
import threading

import pytest

from coldfork.observe.probes.maps import Maps, main_stack, mapped

if not sys.platform.startswith("linux"):
    pytest.skip("reads Linux's /proc", allow_module_level=True)


def stack_of_the_main_thread() -> tuple[int, int]:
    """Its lowest address and the first above it, as the C library says."""
    program = ctypes.CDLL(None)
    attributes = ctypes.create_string_buffer(256)
    ident = threading.main_thread().ident
    assert ident is not None
    assert program.pthread_getattr_np(ctypes.c_void_p(ident), attributes) == 0
    lowest, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert program.pthread_attr_getstack(attributes, ctypes.byref(lowest), ctypes.byref(size)) == 0
    program.pthread_attr_destroy(attributes)
    assert lowest.value is not None
    return lowest.value, lowest.value + size.value


def test_the_main_threads_stack_is_where_the_c_library_says() -> None:
    found = main_stack(mapped())
    lowest, highest = stack_of_the_main_thread()
    assert found is not None
    # The C library leaves out the arguments and variables above the first frame.
    assert found[0] <= lowest < highest <= found[1]


@pytest.mark.parametrize("text", [b"", b"1000-2000 r-xp 00000000 00:00 1 /lib/libc.so.6\n"])
def test_a_map_without_a_stack_has_none(text: bytes) -> None:
    assert main_stack(text) is None


def test_a_stack_that_comes_first_may_reach_down_to_nothing() -> None:
    assert main_stack(b"3000-4000 rw-p 00000000 00:00 0    [stack]\n") == (0, 0x4000)


def test_each_address_is_in_the_file_that_the_kernel_names() -> None:
    """Every mapping's first and last byte, and the first one beyond it where nothing follows at once."""
    text = mapped()
    maps = Maps(text)
    beginnings = {int(line.split(b"-")[0], 16) for line in text.splitlines()}
    files = 0
    for line in text.decode().splitlines():
        addresses, permissions, _, _, _, *rest = line.split(None, 5)
        start, end = (int(word, 16) for word in addresses.split("-"))
        path = rest[0] if rest and rest[0].startswith("/") else None
        for address in (start, end - 1):
            assert maps.file_at(address, code=False) == path
            assert maps.file_at(address) == (path if "x" in permissions else None)
        if end not in beginnings:
            assert maps.file_at(end, code=False) is None
        files += path is not None
    assert files
    assert maps.file_at(0) is None


def test_a_library_is_named_by_the_beginning_of_its_files_name() -> None:
    maps = Maps(
        b"1000-2000 r-xp 00000000 00:00 1 /cuda/libcuda.so.1\n2000-3000 r--p 00000000 00:00 1 /libhip.so\n"
    )
    assert maps.named("libcuda.so", "libhip") == "/cuda/libcuda.so.1"
    assert maps.named("libhip") is None
    assert maps.named("cuda") is None
