"""The REST API's Range header and Content-Disposition."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.errors import RangeNotSatisfiable
from anabranch.model.objects.entry import Entry
from anabranch.rest.protocol.object_headers import RANGE_PATTERN, object_headers, require_range

LAKEFS_PATTERN = r"^bytes=((\d*-\d*,? ?)+)$"


@pytest.mark.parametrize(
    "header", ["bytes=0-1,3-4", "bytes=3-1", "bytes=-", f"bytes={'9' * 5000}-"]
)
def test_several_or_invalid_ranges_are_not_satisfiable(header):
    with pytest.raises(RangeNotSatisfiable) as caught:
        require_range(header, 10)
    assert caught.value.size == 10


@given(st.text("0123-, b", max_size=12).map("bytes=".__add__))
@example("bytes=0-1, 2-3")
def test_range_pattern_matches_what_the_pattern_of_lakefs_matches(header):
    ours = re.fullmatch(RANGE_PATTERN, header) is not None
    assert ours == (re.fullmatch(LAKEFS_PATTERN, header) is not None)


def test_range_pattern_rejects_a_hostile_header_quickly():
    assert re.fullmatch(RANGE_PATTERN, "bytes=" + "-1" * 50_000 + "x") is None


@pytest.mark.parametrize(
    ("content_type", "disposition"),
    [
        ("text/html; charset=utf-8", "inline"),
        ("IMAGE/PNG", "inline"),
        ("application/x-sh", "attachment"),
        ("", "attachment"),
    ],
)
def test_only_displayable_types_are_inline(content_type, disposition):
    entry = Entry(address="a", size=1, mtime=0, checksum="c", content_type=content_type)
    headers = dict(object_headers(entry, disposition=True))
    assert headers["Content-Disposition"] == disposition
