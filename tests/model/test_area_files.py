"""Which files of areas an address may mean."""

from __future__ import annotations

import pytest

from anabranch.model.tables.area_files import AreaPath, area_paths

AREA = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("address", "paths"),
    [
        (f"s3://sea/.tables/{AREA}/data/a.parquet", {"data/a.parquet"}),
        (f"S3A://sea/.tables/{AREA}/data/a.parquet", {"data/a.parquet"}),
        (f"s3://sea/.tables/{AREA}/data/a%20b", {"data/a%20b", "data/a b"}),
        (f"s3://sea/%2Etables/{AREA}/a", {"a"}),
        (f"s3://sea//.tables//{AREA}//data//a", {"data//a", "data/a"}),
        (f"s3://sea/.tables/{AREA}/x/../a", {"x/../a", "a"}),
        (f"s3://sea/.tables/{AREA}/a?b#c", {"a?b#c", "a"}),
        (f"file:///lake/block/sea/tables/{AREA}/a", {"a"}),
        (f"tables/{AREA}/a", {"a"}),
        (f"s3://sea/.tables/{AREA}", set()),
        (f"s3://sea/.tables/{AREA}/", set()),
        ("s3://sea/main/tables/a/b", set()),
        ("", set()),
        ("%", set()),
    ],
)
def test_paths(address, paths):
    found = area_paths(address)
    assert {each.path for each in found} == paths
    assert {each.area for each in found} <= {AREA}


def test_the_repository_and_the_address_in_its_namespace():
    (found,) = area_paths(f"s3://sea/.tables/{AREA}/data/a")
    assert found == AreaPath("sea", AREA, "data/a")
    assert found.relative == f"tables/{AREA}/data/a"


def test_a_path_out_of_an_area_may_be_one_in_another():
    other = "f" * 32
    found = area_paths(f"s3://sea/.tables/{AREA}/../{other}/a")
    assert AreaPath("sea", other, "a") in found
