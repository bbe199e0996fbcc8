"""Tags over HTTP."""

from __future__ import annotations

import pytest


@pytest.fixture
def tags(repository):
    return f"/repositories/{repository}/tags"


def test_a_tag_is_created_listed_and_deleted(api, tags):
    created = api.post(tags, json={"id": "v1.0", "ref": "main"})
    commit_id = api.get(tags.replace("tags", "branches/main")).json()["commit_id"]
    assert created.status_code == 201
    assert created.text == f'{{"commit_id":"{commit_id}","id":"v1.0"}}\n'
    assert api.get(f"{tags}/v1.0").text == created.text
    assert api.get(tags).json()["results"] == [created.json()]
    assert api.delete(f"{tags}/v1.0").status_code == 204
    for response in (api.delete(f"{tags}/v1.0"), api.get(f"{tags}/v1.0")):
        assert (response.status_code, response.json()) == (404, {"message": "tag not found"})


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"id": "existing", "ref": "main"}, 409, "tag already exists: not unique"),
        ({"id": "main", "ref": "main"}, 409, "branch name main: conflict found"),
        ({"id": "v2", "ref": "nope"}, 404, "not found"),
        ({"id": "v2", "ref": "main$"}, 400, "reference to staging area with $ is not a commit"),
        (
            {"id": "a b", "ref": "main"},
            400,
            "argument tagID: tag id: invalid value: validation error",
        ),
        ({"id": "", "ref": "main"}, 400, "argument tagID: required value: validation error"),
        ({"id": "v2"}, 400, 'Error at "/ref": property "ref" is missing'),
    ],
)
def test_an_invalid_tag_is_not_created(api, tags, body, status, message):
    api.post(tags, json={"id": "existing", "ref": "main"})
    refused = api.post(tags, json=body)
    assert refused.status_code == status
    assert refused.json()["message"].endswith(message)


def test_any_expression_can_be_tagged_and_tags_are_listed_in_pages(api, tags):
    for name in ("b", "a", "c", "dev:x"):
        assert api.post(tags, json={"id": name, "ref": "main~0"}).status_code == 201
    first = api.get(tags, params={"amount": 2}).json()
    assert [item["id"] for item in first["results"]] == ["a", "b"]
    assert first["pagination"]["next_offset"] == "b"
    rest = api.get(tags, params={"after": "b"}).json()["results"]
    assert [item["id"] for item in rest] == ["c", "dev:x"]
    prefixed = api.get(tags, params={"prefix": "dev"}).json()["results"]
    assert [item["id"] for item in prefixed] == ["dev:x"]
