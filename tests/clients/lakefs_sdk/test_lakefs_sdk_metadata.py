"""lakefs-sdk: the tables of commits, as files in the store."""

from __future__ import annotations

import re

import pytest

from anabranch import _kernel as kernel

TABLE_ID = re.compile(rb"[0-9a-f]{64}")


@pytest.fixture
def table_of(tmp_path, sdk, repo):
    """Returns the records of a table that was downloaded."""

    def download(kind, table_id):
        path = tmp_path / table_id
        path.write_bytes(sdk.internal_api.get_metadata_object(repo.id, table_id, kind))
        assert kernel.verify_table(str(path)) == table_id
        return kernel.table_records(str(path))

    return download


def test_the_tables_of_a_commit_have_its_objects(sdk, repo, table_of):
    repo.put("a")
    commit = repo.save("b")
    location = sdk.metadata_api.get_meta_range(repo.id, commit.meta_range_id).location
    assert location.endswith(f"/_lakefs/{commit.meta_range_id}")
    paths = []
    for _, record in table_of("meta_range", commit.meta_range_id):
        range_id = TABLE_ID.search(record)[0].decode()
        location = sdk.metadata_api.get_range(repo.id, range_id).location
        assert location.endswith(f"/_lakefs/{range_id}")
        paths += [path for path, _ in table_of("range", range_id)]
    assert paths == [b"a", b"b"]


def test_unknown_tables_are_not_found(sdk, repo, refused):
    for kind in ("range", "meta_range"):
        with refused(404):
            sdk.internal_api.get_metadata_object(repo.id, "0" * 64, kind)
    for call in (sdk.metadata_api.get_meta_range, sdk.metadata_api.get_range):
        with refused(404):
            call(repo.id, "0" * 64)
