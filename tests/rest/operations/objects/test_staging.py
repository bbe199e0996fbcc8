"""Upload addresses, links, and entries for stored objects, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def branch(repository):
    return f"/repositories/{repository}/branches/main"


@pytest.fixture
def backing(branch):
    return f"{branch}/staging/backing"


def store(address: str, content: bytes) -> None:
    """Writes to the store directly, as a client does."""
    path = Path(address.removeprefix("local://"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def link(api, backing, address, path="a", headers=None, **fields):
    body = {"staging": {"physical_address": address}, "checksum": "5d41", "size_bytes": 5}
    return api.put(backing, params={"path": path}, json=body | fields, headers=headers)


def test_an_object_stored_by_the_client_is_linked(api, backing, repository):
    response = api.get(backing, params={"path": "a"})
    address = response.json()["physical_address"]
    assert response.text == f'{{"physical_address":"{address}","presigned_url":null}}\n'
    assert f"/{repository}/data/" in address
    assert "," in address
    store(address, b"hello")
    linked = link(
        api, backing, address, user_metadata={"k": "v"}, content_type="text/x-abc", mtime=17
    )
    assert linked.status_code == 200
    assert linked.json() == {
        "checksum": "5d41",
        "content_type": "text/x-abc",
        "metadata": {"k": "v"},
        "mtime": 17,
        "path": "a",
        "path_type": "object",
        "physical_address": address,
        "size_bytes": 5,
    }
    got = api.get(f"/repositories/{repository}/refs/main/objects", params={"path": "a"})
    assert (got.content, got.headers["etag"]) == (b"hello", '"5d41"')


def test_a_link_may_require_that_no_object_exists(api, backing):
    address = api.get(backing, params={"path": "a"}).json()["physical_address"]
    absent = {"if-none-match": "*"}
    store(address, b"hello")
    assert link(api, backing, address, headers=absent).status_code == 200
    assert link(api, backing, address, headers=absent).status_code == 412
    assert link(api, backing, address, headers={"if-match": "x"}).status_code == 501


def test_an_invalid_link_is_refused(api, backing):
    address = api.get(backing, params={"path": "a"}).json()["physical_address"]
    for changed in (address + "x", address.partition(",")[0]):
        refused = link(api, backing, changed)
        assert (refused.status_code, refused.json()) == (400, {"message": "link address invalid"})
    assert link(api, backing, address, path="b").status_code == 400
    assert link(api, backing, address, checksum="").json() == {"message": "checksum is required"}
    assert link(api, backing, address, size_bytes=-1).status_code == 400
    assert link(api, backing, address, size_bytes=2**64).status_code == 400
    assert link(api, backing, "s3://elsewhere/x").status_code == 400
    missing = api.put(
        backing, params={"path": "a"}, json={"staging": {}, "checksum": "c", "size_bytes": 1}
    )
    assert missing.status_code == 400


def test_missing_and_protected_branches_refuse_links_before_other_checks(api, repository):
    rules = [{"pattern": "protected*"}]
    root = f"/repositories/{repository}"
    assert api.put(f"{root}/settings/branch_protection", json=rules).status_code == 204
    frozen = {"name": f"{repository}-frozen", "read_only": True}
    frozen["storage_namespace"] = f"local://{frozen['name']}"
    assert api.post("/repositories", json=frozen).status_code == 201
    cases = {
        f"{root}/branches/absent": (404, "branch not found"),
        f"{root}/branches/protected-absent": (403, "cannot write to protected branch"),
        f"/repositories/{frozen['name']}/branches/main": (403, "read-only repository"),
        f"/repositories/{frozen['name']}/branches/absent": (403, "read-only repository"),
    }
    for branch, (status, message) in cases.items():
        url = f"{branch}/staging/backing"
        address = api.get(url, params={"path": "a"}).json()["physical_address"]
        for linked in (address, address + "x"):
            refused = link(api, url, linked)
            assert (refused.status_code, refused.json()) == (status, {"message": message})


def test_an_object_that_was_not_stored_is_not_linked(api, backing, repository):
    address = api.get(backing, params={"path": "a"}).json()["physical_address"]
    refused = link(api, backing, address)
    assert refused.status_code == 400
    message = f"link address empty: no object is stored at {address}"
    assert refused.json() == {"message": message}
    store(address, b"hell")
    refused = link(api, backing, address)
    message = "link size mismatch: the stored object has 4 bytes, the request says 5"
    assert (refused.status_code, refused.json()) == (400, {"message": message})
    got = api.get(f"/repositories/{repository}/refs/main/objects", params={"path": "a"})
    assert got.status_code == 404


def test_a_linked_object_that_was_removed_is_gone(api, backing, repository):
    address = api.get(backing, params={"path": "a"}).json()["physical_address"]
    store(address, b"hello")
    assert link(api, backing, address).status_code == 200
    Path(address.removeprefix("local://")).unlink()
    got = api.get(f"/repositories/{repository}/refs/main/objects", params={"path": "a"})
    assert got.status_code == 410
    assert set(got.json()) == {"message"}


def test_existing_objects_of_the_store_are_staged(api, branch, repository):
    created = api.post(f"{branch}/objects", params={"path": "a"}, content=b"abc").json()

    def stage(address):
        body = {"physical_address": address, "checksum": "x", "size_bytes": 3, "mtime": 5}
        return api.put(f"{branch}/objects", params={"path": "b"}, json=body)

    staged = stage(created["physical_address"])
    assert staged.status_code == 201
    assert (staged.json()["mtime"], staged.json()["checksum"]) == (5, "x")
    got = api.get(f"/repositories/{repository}/refs/main/objects", params={"path": "b"})
    assert got.content == b"abc"
    listed = api.get(f"/repositories/{repository}/refs/main/objects/ls", params={"prefix": "b"})
    assert listed.json()["results"][0]["physical_address"] == staged.json()["physical_address"]
    for address in ("s3://bucket/key", "local:///etc/passwd", "local://x/../../etc/passwd", "abc"):
        refused = stage(address)
        assert (refused.status_code, refused.json()) == (403, {"message": "forbidden"})


def test_the_tables_of_a_commit_are_read(api, branch, repository):
    api.post(f"{branch}/objects", params={"path": "a"}, content=b"abc")
    tree = api.post(f"{branch}/commits", json={"message": "a"}).json()["meta_range_id"]
    metadata = f"/repositories/{repository}/metadata"
    location = api.get(f"{metadata}/meta_range/{tree}").json()["location"]
    file = Path(location.removeprefix("local://")).read_bytes()
    got = api.get(f"{metadata}/object/meta_range/{tree}")
    assert got.headers["content-type"] == "application/octet-stream"
    assert got.content == file
    assert file.endswith(bytes.fromhex("f7cff485b741e288"))
    for kind in ("meta_range", "range"):
        for name in ("0" * 64, "...", "nope"):
            response = api.get(f"{metadata}/{kind}/{name}")
            assert response.status_code == 404
            assert api.get(f"{metadata}/object/{kind}/{name}").status_code == 404
    assert api.get(f"{metadata}/object/abc/{tree}").status_code == 400


def test_an_address_of_another_namespace_is_equal_in_listings_and_stats(api, branch, repository):
    body = {"physical_address": "local://elsewhere/data/x", "checksum": "x", "size_bytes": 3}
    staged = api.put(f"{branch}/objects", params={"path": "far"}, json=body).json()
    assert staged["physical_address"].startswith("local:///")
    root = f"/repositories/{repository}/refs/main/objects"
    (listed,) = api.get(f"{root}/ls", params={"prefix": "far"}).json()["results"]
    stat = api.get(f"{root}/stat", params={"path": "far"}).json()
    assert listed["physical_address"] == stat["physical_address"] == staged["physical_address"]
