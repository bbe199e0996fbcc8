"""Addresses of tables: a dot separates the parts of a name, and is written %2E in one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.cli.errors import Usage
from anabranch.cli.framework.table_address import (
    TableAddress,
    catalog_table_address,
    joined,
    namespace_address,
    table_address,
    table_or_ref,
)


@pytest.mark.parametrize(
    ("text", "ref", "parts"),
    [
        ("lakefs://rides/main", "main", ()),
        ("lakefs://rides/main/", "main", ()),
        ("lakefs://rides/main~1/city", "main~1", ("city",)),
        ("lakefs://rides/v1/city.raw.trips", "v1", ("city", "raw", "trips")),
        ("lakefs://rides/v1/city.a%2Eb%2Fc%25", "v1", ("city", "a.b/c%")),
        ("lakefs://rides/v1/_tables/city/a.b/table.json", "v1", ("city", "a.b")),
    ],
)
def test_names_in_addresses(text, ref, parts):
    assert namespace_address(text) == TableAddress("rides", ref, parts)


@given(st.lists(st.text(min_size=1), min_size=1))
def test_each_name_can_be_written(parts):
    address = namespace_address(f"lakefs://rides/main/{joined(parts)}")
    assert address.parts == tuple(parts)


@pytest.mark.parametrize(
    "text", ["city.trips", "lakefs://rides", "lakefs://rides/main/a..b", "lakefs://rides/main/a."]
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(Usage):
        namespace_address(text)


def test_a_table_is_in_a_namespace():
    address = table_address("lakefs://rides/main/city.raw.trips")
    assert (address.namespace, address.name) == (("city", "raw"), "trips")
    for text in ("lakefs://rides/main", "lakefs://rides/main/trips"):
        with pytest.raises(Usage, match="names no table"):
            table_address(text)


def test_what_has_a_slash_is_a_folder():
    folder = TableAddress("rides", "main", folder="raw/v1.2/flights/")
    assert table_address("lakefs://rides/main/raw/v1.2/flights") == folder
    assert table_address("lakefs://rides/main/raw/v1.2/flights/") == folder
    assert namespace_address("lakefs://rides/main/top/").folder == "top/"
    assert folder.text == "raw/v1.2/flights/"
    for text in ("lakefs://rides/main/top/", "lakefs://rides/main/a/b.c"):
        with pytest.raises(Usage, match="names no table"):
            catalog_table_address(text)


def test_a_second_reference_may_be_a_name():
    assert table_or_ref("night") == "night"
    assert table_or_ref("lakefs://rides/night") == TableAddress("rides", "night")
