"""Repositories over HTTP."""

from __future__ import annotations

import time

import pytest

CREATION = {"name": "sea-of-abc", "storage_namespace": "local://sea-of-abc"}


def test_a_repository_is_created_listed_and_deleted(api):
    created = api.post("/repositories", json=CREATION)
    assert created.status_code == 201
    assert created.headers["content-type"] == "application/json"
    assert created.headers["x-content-type-options"] == "nosniff"
    date = created.json()["creation_date"]
    assert abs(date - time.time()) < 60
    text = (
        f'{{"creation_date":{date},"default_branch":"main","id":"sea-of-abc","read_only":false,'
        '"storage_id":"","storage_namespace":"local://sea-of-abc"}\n'
    )
    assert created.text == text
    assert api.get("/repositories/sea-of-abc").text == text
    assert created.json() in api.get("/repositories", params={"prefix": "sea-of"}).json()["results"]
    deleted = api.delete("/repositories/sea-of-abc")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert "content-type" not in deleted.headers
    gone = api.get("/repositories/sea-of-abc")
    assert (gone.status_code, gone.text) == (404, '{"message":"repository not found"}\n')


def test_a_name_or_namespace_in_use_is_refused(api, repository):
    body = {"name": repository, "storage_namespace": "local://elsewhere"}
    taken = api.post("/repositories", json=body)
    assert taken.status_code == 409
    assert taken.json() == {"message": "error creating repository: not unique"}
    body = {"name": "another-name", "storage_namespace": f"local://{repository}"}
    in_use = api.post("/repositories", json=body)
    assert in_use.status_code == 400
    assert in_use.json() == {
        "message": "failed to create repository: found lakeFS objects in the storage "
        f"(:local://{repository}) key(_lakefs/dummy): storage namespace already in use"
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Abc"}, 'Error at "/name": string doesn\'t match the regular expression'),
        ({"name": "t" * 64}, 'Error at "/name": string doesn\'t match the regular expression'),
        ({"storage_namespace": "abc"}, 'Error at "/storage_namespace": string doesn\'t match'),
        (
            {"storage_namespace": "s3://abc"},
            "failed to match required regex ^local://: invalid namespace",
        ),
        ({"storage_namespace": "local://../abc"}, "invalid namespace"),
        ({"default_branch": "-x"}, "argument branch: branch id: invalid value: validation error"),
        ({"storage_id": "other"}, "no storage named"),
        ({"read_only": "yes"}, 'Error at "/read_only": value must be a boolean'),
    ],
)
def test_an_invalid_repository_is_not_created(api, changes, message):
    body = {"name": "never-created", "storage_namespace": "local://never-created"} | changes
    refused = api.post("/repositories", json=body)
    assert refused.status_code == 400
    assert message in refused.json()["message"]
    assert api.get("/repositories/never-created").status_code == 404


def test_a_bare_repository_has_no_branch_and_no_flag(api):
    body = {"name": "bare-one", "storage_namespace": "local://bare-one"}
    created = api.post("/repositories", params={"bare": "true"}, json=body)
    assert created.status_code == 201
    assert "read_only" not in created.json()
    assert api.get("/repositories/bare-one/branches").json()["results"] == []
    assert api.get("/repositories/bare-one/branches/main").status_code == 404


def test_a_repository_may_be_created_with_sample_data(api):
    body = {
        "name": "with-samples",
        "storage_namespace": "local://with-samples",
        "sample_data": True,
        "default_branch": "trunk",
    }
    assert api.post("/repositories", json=body).json()["default_branch"] == "trunk"
    log = api.get("/repositories/with-samples/refs/trunk/commits").json()["results"]
    assert [commit["message"] for commit in log] == ["Add sample data", "Repository created"]
    assert log[0]["committer"] == "tester"
    assert api.get("/repositories/with-samples/refs/trunk/objects/ls").json()["results"]


def test_a_read_only_repository_can_be_changed_with_force(api):
    body = {"name": "quiet-one", "storage_namespace": "local://quiet-one", "read_only": True}
    assert api.post("/repositories", json=body).json()["read_only"] is True
    branch = {"name": "dev", "source": "main"}
    refused = api.post("/repositories/quiet-one/branches", json=branch)
    assert (refused.status_code, refused.json()) == (403, {"message": "read-only repository"})
    forced = api.post("/repositories/quiet-one/branches", json=branch | {"force": True})
    assert forced.status_code == 201
    path = "/repositories/quiet-one/branches/dev/objects"
    assert api.post(path, params={"path": "a"}, content=b"x").status_code == 403
    errors = api.post(f"{path}/delete", json={"paths": ["a", "b"]}).json()["errors"]
    assert errors == [
        {"message": "read-only repository", "path": path_, "status_code": 403}
        for path_ in ("a", "b")
    ]
    assert api.delete("/repositories/quiet-one").status_code == 403
    assert api.delete("/repositories/quiet-one", params={"force": "true"}).status_code == 204


def test_repositories_are_listed_in_pages(api, new_repository):
    names = sorted(new_repository() for _ in range(3))
    first = api.get("/repositories", params={"prefix": "repository-", "amount": 1}).json()
    assert first["pagination"] == {
        "has_more": True,
        "max_per_page": 1000,
        "next_offset": first["results"][0]["id"],
        "results": 1,
    }
    seen, after = [], ""
    while True:
        page = api.get(
            "/repositories", params={"prefix": "repository-", "after": after, "amount": 2}
        ).json()
        seen += [item["id"] for item in page["results"]]
        after = page["pagination"]["next_offset"]
        if not page["pagination"]["has_more"]:
            break
    assert after == ""
    assert set(names) <= set(seen)
    assert seen == sorted(set(seen))
    results = api.get("/repositories", params={"search": names[0][3:]}).json()["results"]
    assert names[0] in [item["id"] for item in results]


@pytest.mark.parametrize("amount", [-1, 0])
def test_an_amount_of_zero_or_less_is_the_default_amount(api, amount, repository):
    page = api.get("/repositories", params={"amount": amount, "prefix": repository}).json()
    default = api.get("/repositories", params={"prefix": repository}).json()
    assert page == default
    assert page["results"][0]["id"] == repository


def test_metadata_is_set_and_deleted(api, repository):
    path = f"/repositories/{repository}/metadata"
    assert api.get(path).text == "{}\n"
    assert api.post(path, json={"metadata": {"b": "2", "a": "1"}}).status_code == 204
    assert api.post(path, json={"metadata": {"b": "ü"}}).status_code == 204
    assert api.get(path).text == '{"a":"1","b":"ü"}\n'
    assert api.request("DELETE", path, json={"keys": ["a", "x"]}).status_code == 204
    assert api.get(path).json() == {"b": "ü"}
    assert api.get("/repositories/no-such/metadata").status_code == 404
    assert api.post(path, json={"metadata": {"n": 1}}).status_code == 400


@pytest.mark.parametrize(
    ("namespace", "reason"),
    [
        ("local://deep" + "/a" * 2000, "4,012 bytes, at most 900"),
        ("local://deep" + "/a" * 64, "65 nested folders, at most 64"),
        ("local://long/" + "a/" * 400 + "é" * 60, "933 bytes, at most 900"),
    ],
)
def test_a_namespace_that_is_too_long_or_too_deep_is_refused(api, namespace, reason):
    refused = api.post("/repositories", json={"name": "deep", "storage_namespace": namespace})
    assert refused.status_code == 400
    assert reason in refused.json()["message"]
    assert refused.headers["x-anabranch-kind"] == "invalid_storage_namespace"
    assert api.get("/repositories/deep").status_code == 404


def test_a_namespace_of_64_folders_is_accepted(api):
    body = {"name": "deepest", "storage_namespace": "local://deep" + "//a" * 63}
    assert api.post("/repositories", json=body).status_code == 201
