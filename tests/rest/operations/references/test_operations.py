"""The operation log over HTTP: who has changed which references, and what these were then."""

from __future__ import annotations

import pytest


@pytest.fixture
def place(repository):
    return f"/repositories/{repository}"


def results(api, place, **params):
    response = api.get(f"{place}/operations", params=params)
    assert response.status_code == 200, response.text
    return response.json()


def commit(api, place, path, content=b"x", branch="main"):
    assert api.post(f"{place}/branches/{branch}/objects?path={path}", content=content).is_success
    made = api.post(f"{place}/branches/{branch}/commits", json={"message": path})
    assert made.status_code == 201
    return made


def test_each_change_is_listed_with_its_user_and_request(api, place):
    first = api.get(f"{place}/branches/main").json()["commit_id"]
    made = commit(api, place, "a")
    second = made.json()["id"]
    api.post(f"{place}/branches", json={"name": "dev", "source": "main"})
    api.post(f"{place}/tags", json={"id": "v1", "ref": "main~1"})
    api.post(f"{place}/branches/dev/objects?path=staged", content=b"s")
    api.put(f"{place}/branches/dev", json={"type": "reset"})
    api.put(f"{place}/branches/dev/hard_reset?ref=main~1")
    api.delete(f"{place}/branches/dev")
    api.delete(f"{place}/tags/v1")
    listed = results(api, place)["results"]
    fields = ("type", "name", "before", "after")
    assert [
        (each["action"], *(tuple(change[field] for field in fields) for change in each["changes"]))
        for each in listed
    ] == [
        ("deleteTag", ("tag", "v1", first, "")),
        ("deleteBranch", ("branch", "dev", first, "")),
        ("hardResetBranch", ("branch", "dev", second, first)),
        ("resetBranch", ("branch", "dev", second, second)),
        ("createTag", ("tag", "v1", "", first)),
        ("createBranch", ("branch", "dev", "", second)),
        ("commit", ("branch", "main", first, second)),
        ("createRepository", ("branch", "main", "", first)),
    ]
    user = api.get("/user").json()["user"]["id"]
    assert {each["user"] for each in listed} == {user}
    assert listed[6]["request_id"] == made.headers["x-request-id"]
    times = [each["time"] for each in listed]
    assert times == sorted(times, reverse=True)
    one = api.get(f"{place}/operations/{listed[6]['id'][:16]}")
    assert one.json() == listed[6]


def test_pages_make_the_whole(api, place):
    for number in range(5):
        commit(api, place, f"a{number}")
    whole = results(api, place)["results"]
    paged, after = [], ""
    while True:
        page = results(api, place, amount=2, after=after)
        assert page["pagination"]["results"] == len(page["results"]) <= 2
        paged += page["results"]
        after = page["pagination"]["next_offset"]
        if not page["pagination"]["has_more"]:
            break
    assert paged == whole
    assert len(whole) == 6


def test_references_are_read_as_they_were(api, place):
    before = commit(api, place, "a", b"one").json()["id"]
    commit(api, place, "a", b"two")
    api.post(f"{place}/branches/main/objects?path=a", content=b"staged")
    newest, older, _ = results(api, place)["results"]
    for text, content in (
        (f"main@{{op:{older['id']}}}", b"one"),
        (f"main@{{op:{newest['id'][:15]}}}", b"two"),
        ("main@{now}", b"two"),
    ):
        assert api.get(f"{place}/refs/{text}/objects", params={"path": "a"}).content == content
    assert api.get(f"{place}/commits/main@{{op:{newest['id']}}}~1").json()["id"] == before
    api.post(f"{place}/branches", json={"name": "then", "source": f"main@{{op:{older['id']}}}"})
    assert api.get(f"{place}/branches/then").json()["commit_id"] == before


@pytest.mark.parametrize(
    ("reference", "status"),
    [
        ("main@{last friday}", 400),
        ("main@{2 years ago}", 400),
        ("main@{op:0000}", 404),
        ("nothing@{now}", 404),
        ("main@{now}$", 400),
        ("main@{}", 400),
    ],
)
def test_other_moments_are_refused(api, place, reference, status):
    response = api.get(f"{place}/refs/{reference}/objects/ls")
    assert response.status_code == status, response.text


def test_unknown_operations_are_not_found(api, place):
    for text in ("0" * 19, "zz", "0", "ffffffffffffffffffffffff"):
        response = api.get(f"{place}/operations/{text}")
        assert (response.status_code, response.json()["message"]) == (404, "operation not found")
    assert api.get("/repositories/nothing-here/operations").status_code == 404


def test_several_operations_of_one_beginning_are_told_apart(api, place):
    commit(api, place, "a")
    first = results(api, place)["results"][0]["id"][:3]
    response = api.get(f"{place}/operations/{first}")
    assert response.status_code == 404
    assert response.json()["message"].startswith("several operations")
