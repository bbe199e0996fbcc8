"""ETags: their quotes, and the comparison of reads and of writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.http.etags import lists_etag, quote_etag, same_etag, unquote_etag


@given(st.text())
def test_quoted_etag_is_safe_in_a_header(checksum):
    etag = quote_etag(checksum)
    assert etag.isascii()
    assert etag.isprintable()
    assert etag.startswith('"')


def test_quotes_of_a_stored_etag_are_kept():
    assert quote_etag('"abc-2"') == '"abc-2"'


@pytest.mark.parametrize("etag", ["abc", '"abc"', ' "abc" ', 'W/"abc"'])
def test_unquote_etag(etag):
    assert unquote_etag(etag) == "abc"


@pytest.mark.parametrize(
    ("header", "written", "read"),
    [
        ('"abc"', True, True),
        ("abc", True, True),
        (" * ", True, True),
        ('W/"abc"', False, True),
        ('"x", "abc"', False, True),
        ('"x"', False, False),
        ("", False, False),
        ('"ABC"', False, False),
    ],
)
def test_writes_name_one_strong_etag_and_reads_list_any(header, written, read):
    assert same_etag(header, "abc") is written
    assert lists_etag(header, "abc") is read
