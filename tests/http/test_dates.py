"""Dates of headers, in every form and in every time zone of the server."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.http.dates import format_http_date, parse_http_date


@pytest.fixture
def local_time_is_new_york(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


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
def test_format_http_date(seconds, text):
    assert format_http_date(seconds) == text


@given(st.integers(0, 253402300799))
def test_formatted_dates_are_parsed(seconds):
    assert parse_http_date(format_http_date(seconds)) == seconds


@pytest.mark.usefixtures("local_time_is_new_york")
@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 -0000",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 09:49:37 +0100",
    ],
)
def test_date_means_the_same_second_in_each_form(text):
    assert parse_http_date(text) == 784111777


@pytest.mark.parametrize(
    "text",
    ["", "never", "0", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999999 08:49:37 GMT", ","],
)
def test_other_texts_are_no_dates(text):
    assert parse_http_date(text) is None
