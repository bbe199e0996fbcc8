"""Which addresses a sweep or a purge may remove, so that trees with them are admitted with care."""

import pytest

from anabranch.versioning.garbage.tree_admission import is_collectable

XID = "0000000000000000000v"
AREA = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (f"data/{XID}/{XID}", True),
        (f"s3://lake/sea/data/{XID}/{XID},abc", True),
        (f"data/{XID}/{XID}/more", False),
        (f"tables/{AREA}/data/a/b.parquet", True),
        (f"s3://lake/sea/tables/{AREA}/metadata/0.json", True),
        (f"tables/{AREA}.json", False),
        ("tables/city/data/b.parquet", False),
        (f"mytables/{AREA}/data/b.parquet", False),
    ],
)
def test_addresses_that_may_be_removed(address: str, expected: bool) -> None:
    assert is_collectable(address) is expected
