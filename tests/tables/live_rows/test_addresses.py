"""Addresses in the metadata of tables, and the paths that they stand for."""

import pytest

from anabranch.errors import Invalid
from anabranch.tables.live_rows.addresses import TablePlace

PLACE = TablePlace("sea", "tables/t/")


@pytest.mark.parametrize(
    ("location", "address", "path"),
    [
        ("", "data/a.parquet", "tables/t/data/a.parquet"),
        ("", "s3a://sea/main/tables/t/a.parquet", "tables/t/a.parquet"),
        ("", "lakefs://sea/other-branch/tables/t/a.parquet", "tables/t/a.parquet"),
        ("", "s3://sea/main/other/b.parquet", "other/b.parquet"),
        ("s3a://sea/dev/elsewhere/t", "s3://sea/dev/elsewhere/t/a.parquet", "tables/t/a.parquet"),
        ("file:///lake/t", "file:/lake/t/a.parquet", "tables/t/a.parquet"),
        ("/lake/t/", "file:///lake/t/x y%20/a.parquet", "tables/t/x y%20/a.parquet"),
        ("gs://bucket/t", "gs://bucket/t/data/a.parquet", "tables/t/data/a.parquet"),
    ],
)
def test_addresses_stand_for_paths_of_the_repository(location, address, path):
    assert PLACE.at(location).path(address) == path


@pytest.mark.parametrize(
    "address",
    [
        "s3://land/main/tables/t/a.parquet",
        "lakefs://land/main/a.parquet",
        "s3://sea/main",
        "s3://sea//a.parquet",
        "file:///etc/passwd",
        "/etc/passwd",
        "https://example.com/a.parquet",
        "gs://bucket/t-other/a.parquet",
    ],
)
def test_addresses_outside_of_the_repository_are_refused(address):
    with pytest.raises(Invalid, match="outside of the repository sea") as caught:
        PLACE.at("gs://bucket/t").path(address)
    assert address in str(caught.value)


@pytest.mark.parametrize(
    "address",
    ["../other/a.parquet", "a/../../b", "./a", "", "data/", "s3://sea/main/../land/main/a", "a/.."],
)
def test_addresses_with_segments_for_other_folders_are_refused(address):
    with pytest.raises(Invalid, match="no path of an object"):
        PLACE.path(address)


def test_relative_uris_have_escapes_and_absolute_ones_are_literal():
    assert PLACE.path_of_uri("day=a%20b/x%2525.parquet") == "tables/t/day=a b/x%25.parquet"
    with pytest.raises(Invalid, match="no path of an object"):
        PLACE.path_of_uri("%2e%2e/secret")
    assert PLACE.path_of_uri("s3://sea/main/a%20b") == "a%20b"
