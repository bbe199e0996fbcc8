"""Listings over REST and S3 leave out what a user may not see, and their pages end."""

from __future__ import annotations

import io
import tarfile

import pytest
from botocore.exceptions import ClientError

from .conftest import allow, deny

OBJECT = "arn:lakefs:fs:::repository/{}/object/{}"
REPOSITORY = "arn:lakefs:fs:::repository/{}"


def pages(api, path, **params):
    """Returns the results of all pages of a listing, two items each."""
    results, after, more = [], "", True
    while more:
        page = api.get(path, params={**params, "after": after, "amount": 2})
        assert page.status_code == 200, page.text
        body = page.json()
        results += body["results"]
        more, after = body["pagination"]["has_more"], body["pagination"]["next_offset"]
        assert len(body["results"]) == 2 or not more
        assert body["pagination"]["results"] == len(body["results"])
        assert bool(after) == more
    return results


def names(results, field="id"):
    return [each[field] for each in results]


def test_repositories_are_visible_to_those_who_may_list_or_read_them(team):
    lakes = [team.repository() for _ in range(4)]
    member = team.member(
        allow("fs:ListRepositories", on=REPOSITORY.format(lakes[0])),
        allow("fs:ReadRepository", on=[REPOSITORY.format(lakes[1]), REPOSITORY.format(lakes[3])]),
        deny("fs:ReadRepository", on=REPOSITORY.format(lakes[3])),
    )
    assert set(lakes) <= set(names(pages(team.admin.api, "/repositories")))
    assert names(pages(member.api, "/repositories")) == lakes[:2]
    buckets = member.s3.list_buckets()["Buckets"]
    assert [bucket["Name"] for bucket in buckets] == lakes[:2]
    assert member.api.get(f"/repositories/{lakes[0]}").status_code == 401
    assert member.api.get(f"/repositories/{lakes[1]}").status_code == 200


def test_listing_repositories_without_any_permission_is_denied(team):
    member = team.member(allow("fs:ReadObject"))
    assert member.api.get("/repositories").status_code == 401
    with pytest.raises(ClientError, match="AccessDenied"):
        member.s3.list_buckets()


def test_branches_and_tags_are_visible_to_those_who_may_read_them(team):
    lake = team.repository("a")
    place = f"/repositories/{lake}"
    for number in range(5):
        body = {"name": f"draft-{number}", "source": "main"}
        assert team.admin.api.post(f"{place}/branches", json=body).status_code == 201
        body = {"id": f"v{number}", "ref": "main"}
        assert team.admin.api.post(f"{place}/tags", json=body).status_code == 201
    member = team.member(
        allow("fs:ListBranches", "fs:ListTags", "fs:ListObjects"),
        allow("fs:ReadBranch", on=f"{REPOSITORY.format(lake)}/branch/draft-?"),
        deny("fs:ReadBranch", on=f"{REPOSITORY.format(lake)}/branch/draft-2"),
        allow("fs:ReadTag", on=f"{REPOSITORY.format(lake)}/tag/v3"),
    )
    expected = ["draft-0", "draft-1", "draft-3", "draft-4"]
    assert names(pages(member.api, f"{place}/branches")) == expected
    assert names(pages(member.api, f"{place}/tags")) == ["v3"]
    listed = member.s3.list_objects_v2(Bucket=lake, Delimiter="/", MaxKeys=3)
    assert [each["Prefix"] for each in listed["CommonPrefixes"]] == [f"{n}/" for n in expected[:3]]
    token = listed["NextContinuationToken"]
    listed = member.s3.list_objects_v2(Bucket=lake, Delimiter="/", ContinuationToken=token)
    assert [each["Prefix"] for each in listed["CommonPrefixes"]] == ["draft-4/"]


def test_users_groups_and_policies_are_visible_to_those_who_may_read_them(team):
    friends = [team.member().name for _ in range(3)]
    member = team.member(
        allow("auth:ListUsers", "auth:ListGroups", "auth:ListPolicies"),
        allow("auth:ReadUser", on=f"arn:lakefs:auth:::user/{friends[1]}"),
        allow("auth:ReadGroup", on="arn:lakefs:auth:::group/V*"),
        allow("auth:ReadPolicy", on="arn:lakefs:auth:::policy/FS*"),
    )
    assert names(pages(member.api, "/auth/users")) == [friends[1]]
    assert names(pages(member.api, "/auth/groups")) == ["Viewers"]
    expected = ["FSFullAccess", "FSReadAll", "FSReadWriteAll"]
    assert names(pages(member.api, "/auth/policies")) == expected


def test_objects_are_visible_to_those_who_may_read_them(team):
    paths = ["a/1", "a/2", "a/hidden/1", "b/1", "c", "d/e/1"]
    lake = team.repository(*paths)
    team.upload(lake, "main", "a/3", "b/2")  # not committed
    member = team.member(
        allow("fs:List*", "fs:ReadBranch"),
        allow("fs:ReadObject", on=[OBJECT.format(lake, "a/*"), OBJECT.format(lake, "d*/1")]),
        deny("fs:ReadObject", on=OBJECT.format(lake, "a/hidden/*")),
    )
    place = f"/repositories/{lake}/refs/main/objects/ls"
    readable = ["a/1", "a/2", "a/3", "d/e/1"]
    assert names(pages(member.api, place), "path") == readable
    assert names(pages(member.api, place, delimiter="/"), "path") == ["a/", "d/"]
    assert names(pages(member.api, place, prefix="a/", delimiter="/"), "path") == readable[:3]
    assert names(pages(member.api, place, prefix="a/hidden"), "path") == []
    keys = []
    for page in member.s3.get_paginator("list_objects_v2").paginate(
        Bucket=lake, Prefix="main/", PaginationConfig={"PageSize": 2}
    ):
        keys += [each["Key"] for each in page.get("Contents", [])]
    assert keys == [f"main/{path}" for path in readable]
    assert "Contents" not in member.s3.list_objects(Bucket=lake, Prefix="main/b")


def test_differences_hold_only_paths_that_may_be_read(team):
    lake = team.repository("a/1", "b/1")
    place = f"/repositories/{lake}"
    api = team.admin.api
    api.post(f"{place}/branches", json={"name": "draft", "source": "main"})
    team.upload(lake, "draft", "a/2", "a/3", "a/4", "b/2", "b/3")
    member = team.member(
        allow(
            "fs:List*", "fs:Read*", on=[REPOSITORY.format(lake), f"{REPOSITORY.format(lake)}/b*"]
        ),
        allow("fs:ReadObject", on=OBJECT.format(lake, "a/*")),
    )
    expected = ["a/2", "a/3", "a/4"]
    assert names(pages(member.api, f"{place}/branches/draft/diff"), "path") == expected
    response = api.post(f"{place}/branches/draft/commits", json={"message": "more"})
    assert response.status_code == 201
    for kind in ("two_dot", "three_dot"):
        diff = f"{place}/refs/main/diff/draft"
        assert names(pages(member.api, diff, type=kind), "path") == expected
        assert names(pages(member.api, diff, type=kind, delimiter="/"), "path") == ["a/"]
    blame = member.api.get(f"{place}/refs/main/objects/blame").json()
    assert names(blame["results"], "path") == ["a/1"]


def test_logs_of_paths_need_permission_to_read_them(team):
    lake = team.repository("a/1", "b/1")
    place = f"/repositories/{lake}/refs/main/commits"
    member = team.member(
        allow("fs:ReadBranch"), allow("fs:ReadObject", on=OBJECT.format(lake, "a/*"))
    )
    assert len(member.api.get(place).json()["results"]) == 2
    for name, path, status in (
        ("objects", "a/1", 200),
        ("objects", "b/1", 401),
        ("prefixes", "a/", 200),
        ("prefixes", "a", 401),
        ("prefixes", "b/", 401),
    ):
        assert member.api.get(place, params={name: path}).status_code == status, (name, path)


def test_conflicts_name_only_paths_that_may_be_read(team):
    lake = team.repository("a", "b")
    place = f"/repositories/{lake}"
    api = team.admin.api
    api.post(f"{place}/branches", json={"name": "draft", "source": "main"})
    for branch in ("main", "draft"):
        for path in ("a", "b"):
            where = f"{place}/branches/{branch}/objects"
            api.post(where, params={"path": path}, content=branch.encode())
        api.post(f"{place}/branches/{branch}/commits", json={"message": branch})
    member = team.member(
        allow("fs:CreateCommit"), allow("fs:ReadObject", on=OBJECT.format(lake, "a"))
    )
    merge = f"{place}/refs/draft/merge/main"
    assert api.post(merge, json={}).json()["conflicts"] == ["a", "b"]
    refused = member.api.post(merge, json={})
    assert (refused.status_code, refused.json()["conflicts"]) == (409, ["a"])
    assert refused.json()["conflict_count"] == 2
    assert '"b"' not in refused.text


def test_uploads_in_progress_are_visible_to_those_who_may_read_their_paths(team):
    lake = team.repository("x")
    for path in ("a/1", "b/1", "b/2", "c/1"):
        team.admin.s3.create_multipart_upload(Bucket=lake, Key=f"main/{path}")
    member = team.member(allow("fs:List*"), allow("fs:ReadObject", on=OBJECT.format(lake, "c/*")))
    every = team.admin.s3.list_multipart_uploads(Bucket=lake, MaxUploads=2)
    assert (len(every["Uploads"]), every["IsTruncated"]) == (2, True)
    page = member.s3.list_multipart_uploads(Bucket=lake, MaxUploads=1)
    assert [each["Key"] for each in page["Uploads"]] == ["main/c/1"]
    assert not page["IsTruncated"]


def test_archives_hold_only_objects_that_may_be_read(team):
    lake = team.repository("a/1", "a/hidden/1", "a/hidden/2", "b/1")
    member = team.member(
        allow("fs:List*"),
        allow("fs:ReadObject", on=OBJECT.format(lake, "a/*")),
        deny("fs:ReadObject", on=OBJECT.format(lake, "a/hidden/*")),
    )
    place = f"/repositories/{lake}/refs/main/objects/archive"

    def archived(*paths, api=member.api):
        response = api.get(place, params={"path": paths})
        if response.status_code != 200:
            return response.status_code
        with tarfile.open(fileobj=io.BytesIO(response.content)) as archive:
            return archive.getnames()

    assert archived("") == ["a/1"]
    assert archived("a/") == ["a/1"]
    assert archived("a/", "b/", api=team.admin.api) == ["a/1", "a/hidden/1", "a/hidden/2", "b/1"]
    assert archived("a/hidden/") == archived("b/") == 404
    assert archived("a/1", "a/hidden/1") == archived("b/1") == 401
    without = team.member(allow("fs:ReadObject", on=OBJECT.format(lake, "*")))
    assert archived("a/", api=without.api) == archived("a/1", api=without.api) == 401
