"""A server without presigned URLs, the default for a local block store."""

from __future__ import annotations

import pytest

UNSUPPORTED = {"message": "local adapter presigned URL: operation not supported"}
NO_PARTS = {"message": "presign multipart upload API is not supported"}
PARAMS = {"path": "a", "presign": "true"}


@pytest.fixture
def root(api, repository):
    root = f"/repositories/{repository}"
    put = api.post(f"{root}/branches/main/objects", params={"path": "a"}, content=b"abc")
    assert put.status_code == 201
    return root


def refused(response, status, body):
    assert (response.status_code, response.json()) == (status, body)


def test_reads_with_presign_respond_that_it_is_not_supported(api, root):
    for resource in ("objects", "objects/stat", "objects/ls"):
        refused(api.get(f"{root}/refs/main/{resource}", params=PARAMS), 400, UNSUPPORTED)
    commit = api.post(f"{root}/branches/main/commits", json={"message": "m"}).json()
    table = f"{root}/metadata/object/meta_range/{commit['meta_range_id']}"
    refused(api.get(table, params=PARAMS), 400, UNSUPPORTED)


def test_a_missing_item_is_reported_first(api, root):
    absent = PARAMS | {"path": "absent"}
    for resource in ("objects", "objects/stat"):
        refused(
            api.get(f"{root}/refs/main/{resource}", params=absent), 404, {"message": "not found"}
        )
    empty = api.get(f"{root}/refs/main/objects/ls", params=PARAMS | {"prefix": "absent"})
    assert (empty.status_code, empty.json()["results"]) == (200, [])
    put = api.post(f"{root}/branches/main/objects", params={"path": "folder/b"}, content=b"b")
    assert put.status_code == 201
    folders = {"presign": "true", "prefix": "f", "delimiter": "/"}
    listed = api.get(f"{root}/refs/main/objects/ls", params=folders)
    assert [item["path"] for item in listed.json()["results"]] == ["folder/"]
    missing = {"message": "repository not found"}
    pmpu = "/repositories/no-such-repository/branches/main/staging/pmpu"
    refused(api.post(pmpu, params={"path": "a"}), 404, missing)


def test_head_ignores_presign(api, root):
    assert api.head(f"{root}/refs/main/objects", params=PARAMS).status_code == 200


def test_staging_addresses_have_no_url(api, root):
    url = f"{root}/branches/main/staging/backing"
    refused(api.get(url, params=PARAMS), 400, UNSUPPORTED)
    staging = api.get(url, params={"path": "a"}).json()
    assert staging["presigned_url"] is None
    assert "," in staging["physical_address"]


def test_multipart_uploads_are_not_implemented(api, root):
    pmpu, query = f"{root}/branches/main/staging/pmpu", {"path": "a"}
    address = {"physical_address": "local://x"}
    parts = {"parts": [{"part_number": 1, "etag": "x"}]}
    source = {"copy_source": {"repository": root.rpartition("/")[2], "ref": "main", "path": "a"}}
    for response in (
        api.post(pmpu, params=query | {"parts": 2}),
        api.put(f"{pmpu}/u", params=query, json=address | parts),
        api.request("DELETE", f"{pmpu}/u", params=query, json=address),
        api.put(f"{pmpu}/u/parts/1", params=query, json=address),
        api.put(f"{pmpu}/u/parts/1/copy", params=query, json=address | source),
    ):
        refused(response, 501, NO_PARTS)
