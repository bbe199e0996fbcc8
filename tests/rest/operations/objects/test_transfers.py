"""Moves and copies over HTTP, which copy bytes only from another repository."""

from __future__ import annotations

import pytest


@pytest.fixture
def base(repository):
    return f"/repositories/{repository}/branches/main/objects"


@pytest.fixture
def put(api, base):
    def put(*paths):
        for path in paths:
            sent = api.post(base, params={"path": path}, content=path.encode())
            assert sent.status_code == 201

    return put


@pytest.fixture
def contents(api, repository):
    """Returns the bytes of all objects of main by path, and their addresses."""

    def contents(name=repository):
        listed = api.get(f"/repositories/{name}/refs/main/objects/ls").json()["results"]
        objects = {}
        for item in listed:
            read = api.get(f"/repositories/{name}/refs/main/objects", params={"path": item["path"]})
            objects[item["path"]] = (read.content, item["physical_address"])
        return objects

    return contents


def test_move_of_a_prefix_keeps_bytes_and_addresses(api, base, put, contents):
    put("a/x", "a/y/z", "b")
    before = contents()
    body = {"source_path": "a/", "destination_path": "c/d/"}
    moved = api.post(f"{base}/moves", json=body)
    assert (moved.status_code, moved.json()) == (200, {"count": 2})
    assert contents() == {
        "b": before["b"],
        "c/d/x": before["a/x"],
        "c/d/y/z": before["a/y/z"],
    }
    assert api.post(f"{base}/moves", json=body).status_code == 404


def test_move_of_an_object_and_copies(api, base, put, contents):
    put("a")
    (before,) = contents().values()
    for kind, body in [
        ("moves", {"source_path": "a", "destination_path": "b"}),
        ("copies", {"source_path": "b", "destination_path": "c/d"}),
        ("copies", {"source_path": "c/", "destination_path": "e/", "source_ref": "main"}),
        ("copies", {"source_path": "", "destination_path": "all/"}),
    ]:
        copied = api.post(f"{base}/{kind}", json=body)
        assert copied.status_code == 200, copied.text
    assert copied.json() == {"count": 3}
    after = contents()
    assert list(after) == ["all/b", "all/c/d", "all/e/d", "b", "c/d", "e/d"]
    assert set(after.values()) == {before}


@pytest.mark.parametrize("kind", ["copies", "moves"])
@pytest.mark.parametrize("shallow", [None, False, True])
@pytest.mark.sample(3)
def test_transfer_from_another_repository(api, put, contents, repository, kind, shallow):
    put("a/x", "a/y", "z")
    before = contents()
    other = f"{repository}-other"
    body = {"name": other, "storage_namespace": f"local://{other}"}
    assert api.post("/repositories", json=body).status_code == 201
    for path, destination in [("a/", "b/"), ("z", "z")]:
        done = api.post(
            f"/repositories/{other}/branches/main/objects/{kind}",
            json={
                "source_repository": repository,
                "source_ref": "main",
                "source_path": path,
                "destination_path": destination,
                **({} if shallow is None else {"shallow": shallow}),
            },
        )
        assert done.status_code == 200, done.text
    after = contents(other)
    expected = {"b/x": before["a/x"], "b/y": before["a/y"], "z": before["z"]}
    if shallow:
        assert after == expected
    else:
        assert {path: item[0] for path, item in after.items()} == {
            path: item[0] for path, item in expected.items()
        }
        assert all(f"/{other}/" in item[1] for item in after.values())
    assert contents() == ({} if kind == "moves" else before)


def test_shallow_copy_of_lakefs_refers_to_the_bytes_of_the_source(api, base, put, contents):
    put("a")
    for shallow in (True, False):
        copied = api.post(
            f"{base}/copy",
            params={"dest_path": f"b-{shallow}"},
            json={"src_path": "a", "shallow": shallow},
        )
        assert copied.status_code == 201, copied.text
    objects = contents()
    assert objects["b-True"] == objects["a"]
    assert objects["b-False"][0] == objects["a"][0]
    assert objects["b-False"][1] != objects["a"][1]


@pytest.mark.parametrize("kind", ["moves", "copies"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"source_path": "a/", "destination_path": "b"}, 400),
        ({"source_path": "a/x", "destination_path": "b/"}, 400),
        ({"source_path": "a/x"}, 400),
        ({"source_path": 1, "destination_path": "b"}, 400),
        ({"source_path": "a/", "destination_path": "a/"}, 400),
        ({"source_path": "none/", "destination_path": "b/"}, 404),
        ({"source_path": "none", "destination_path": "b"}, 404),
        ({"source_path": "a/", "destination_path": "existing/"}, 409),
        ({"source_path": "a/x", "destination_path": "existing/x"}, 409),
    ],
)
def test_refused_transfer_changes_nothing(api, base, put, contents, kind, body, status):
    put("a/x", "existing/x")
    before = contents()
    refused = api.post(f"{base}/{kind}", json=body)
    assert refused.status_code == status, refused.text
    assert refused.json()["message"]
    assert contents() == before


def test_force_overwrites(api, base, put, contents):
    put("a/x", "existing/x")
    body = {"source_path": "a/", "destination_path": "existing/", "force": True}
    assert api.post(f"{base}/moves", json=body).json() == {"count": 1}
    assert {path: read for path, (read, _) in contents().items()} == {"existing/x": b"a/x"}


def test_move_into_its_own_child_is_refused(api, base, put):
    put("a/x")
    body = {"source_path": "a/", "destination_path": "a/b/"}
    refused = api.post(f"{base}/moves", json=body)
    assert (refused.status_code, refused.headers["X-Anabranch-Kind"]) == (400, "move_into_itself")


def test_protected_branch_refuses_transfers(api, base, put, repository):
    put("a/x")
    rules = [{"pattern": "main"}]
    where = f"/repositories/{repository}/settings/branch_protection"
    assert api.put(where, json=rules).status_code == 204
    body = {"source_path": "a/", "destination_path": "b/"}
    for kind in ("moves", "copies"):
        assert api.post(f"{base}/{kind}", json=body).status_code == 403


@pytest.mark.parametrize("name", ["a/", "a/x"])
def test_move_from_another_branch_leaves_what_is_not_moved(api, base, contents, repository, name):
    branches = f"/repositories/{repository}/branches"
    assert api.post(branches, json={"name": "side", "source": "main"}).status_code == 201
    side = base.replace("main", "side")
    for path in ("a/x", "b"):
        assert api.post(side, params={"path": path}, content=b"x").status_code == 201
    body = {
        "source_ref": "side",
        "source_path": name,
        "destination_path": name.replace("a", "c"),
    }
    assert api.post(f"{base}/moves", json=body).json() == {"count": 1}
    assert list(contents()) == ["c/x"]
    remaining = api.get(f"/repositories/{repository}/refs/side/objects/ls").json()["results"]
    assert [item["path"] for item in remaining] == ["b"]
    assert api.post(f"{base}/moves", json=body).status_code == 404
