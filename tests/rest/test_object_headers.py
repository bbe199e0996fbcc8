"""Ranges against Python's own slices, and dates, types and tags that must not break a header."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.errors import RangeNotSatisfiable
from anabranch.model.entry import Entry
from anabranch.rest.object_headers import (
    RANGE_PATTERN,
    byte_range,
    etag_of,
    http_date,
    object_headers,
)

LAKEFS_PATTERN = r"^bytes=((\d*-\d*,? ?)+)$"


def entry(**fields: object) -> Entry:
    return Entry(**({"address": "a", "size": 1, "mtime": 0, "checksum": "c"} | fields))


@given(st.integers(0, 50), st.integers(0, 60), st.integers(0, 60))
def test_ranges_are_slices(size, first, last):
    data = bytes(range(size))
    for header, wanted in (
        (f"bytes={first}-{last}", data[first : last + 1]),
        (f"bytes={first}-", data[first:]),
        (f"bytes=-{last}", data[max(size - last, 0) :] if last else b""),
    ):
        if not wanted:
            with pytest.raises(RangeNotSatisfiable) as caught:
                byte_range(header, size)
            assert caught.value.size == size
        else:
            part = byte_range(header, size)
            assert data[part.start : part.start + part.length] == wanted
            assert part.content_range == f"bytes {part.start}-{data.index(wanted[-1])}/{size}"


@pytest.mark.parametrize(
    "header", ["bytes=0-1,3-4", "bytes=3-1", "bytes=-", f"bytes={'9' * 5000}-"]
)
def test_what_is_no_single_range_is_not_satisfiable(header):
    with pytest.raises(RangeNotSatisfiable):
        byte_range(header, 10)


@given(st.text("0123-, b", max_size=12).map("bytes=".__add__))
@example("bytes=0-1, 2-3")
def test_our_pattern_means_what_that_of_lakefs_means(header):
    ours = re.fullmatch(RANGE_PATTERN, header) is not None
    assert ours == (re.fullmatch(LAKEFS_PATTERN, header) is not None)


def test_a_hostile_range_is_refused_at_once():
    assert re.fullmatch(RANGE_PATTERN, "bytes=" + "-1" * 50_000 + "x") is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1700000000, "Tue, 14 Nov 2023 22:13:20 GMT"),
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        (2**62, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (-(2**62), "Mon, 01 Jan 0001 00:00:00 GMT"),
    ],
)
def test_dates(seconds, text):
    assert http_date(seconds) == text


@pytest.mark.parametrize(
    ("content_type", "disposition"),
    [
        ("text/html; charset=utf-8", "inline"),
        ("IMAGE/PNG", "inline"),
        ("application/x-sh", "attachment"),
        ("", "attachment"),
    ],
)
def test_only_what_is_safe_is_shown(content_type, disposition):
    headers = dict(object_headers(entry(content_type=content_type), disposition=True))
    assert headers["Content-Disposition"] == disposition


@given(st.text())
def test_no_checksum_breaks_a_header(checksum):
    etag = etag_of(entry(checksum=checksum))
    assert etag.isascii()
    assert etag.isprintable()
    assert etag.startswith('"')
