"""Sizes are read as people write them, and spoken as they say them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldfork.launch.supervisor.limits import parse_size, spoken, spoken_cap
from coldfork.model.errors import UsageError

GIB = 1024**3


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("2 GiB", 2 * GIB),
        ("2gib", 2 * GIB),
        ("512M", 512 * 1024**2),
        ("512 m", 512 * 1024**2),
        ("1.5G", GIB * 3 // 2),
        (".5 KiB", 512),
        ("1.5GB", 1_500_000_000),
        ("3KB", 3000),
        ("1T", 1024**4),
        (" 4096 ", 4096),
        ("4096B", 4096),
        (17, 17),
        ("9007199254740993", 9_007_199_254_740_993),
    ],
)
def test_a_size_is_read(written: int | str, count: int) -> None:
    assert parse_size(written) == count


@pytest.mark.parametrize("written", ["", "much", "2 GiBs", "-1", "1e9", "G", "2 G G", "2,5G", "2i", "1P"])
def test_what_is_no_size_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(UsageError, match=r'max_memory=.* is not a size; write it as in "2 GiB"'):
        parse_size(written, "max_memory")


@pytest.mark.parametrize("given", [0, -5, "0", "0.0 GiB", "0.1"])
def test_a_size_of_nothing_is_refused(given: int | str) -> None:
    with pytest.raises(UsageError, match="is too small to use; for no limit, give None"):
        parse_size(given)


@pytest.mark.parametrize("given", [1.5, True, None, b"2G"])
def test_what_is_neither_number_nor_text_is_refused(given: object) -> None:
    with pytest.raises(UsageError, match="has to be a number of bytes or a text"):
        parse_size(given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "said", "meant"),
    [
        (2 * GIB, "2.0 GiB", "2 GiB"),
        (GIB * 3 // 2, "1.5 GiB", "1.5 GiB"),
        (512 * 1024**2, "512.0 MiB", "512 MiB"),
        (1000, "1000 bytes", "1000 bytes"),
        (1024, "1.0 KiB", "1 KiB"),
        (GIB - 1, "1.0 GiB", "1 GiB"),
        (5 * 1024**4, "5.0 TiB", "5 TiB"),
        (20 * 1024**2, "20.0 MiB", "20 MiB"),
    ],
)
def test_a_size_is_spoken(count: int, said: str, meant: str) -> None:
    assert (spoken(count), spoken_cap(count)) == (said, meant)


@given(st.integers(min_value=1, max_value=1 << 52))
def test_what_is_spoken_is_read_as_nearly_the_same(count: int) -> None:
    read = parse_size(spoken(count).removesuffix("bytes"))
    assert abs(read - count) <= max(1, count * 0.06)
