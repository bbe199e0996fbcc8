"""Metadata as tables over REST: what users see is what listings over REST and S3 show them."""

from __future__ import annotations

import csv
import io

import pytest

from .conftest import allow, deny

OBJECT = "arn:lakefs:fs:::repository/{}/object/{}"
REPOSITORY = "arn:lakefs:fs:::repository/{}"
PATHS = ("a/1", "a/2", "a/secret/1", "b/1", "b/secret", "c", "é/ü", "quote'\"")


def queried(member, lake, sql, **body):
    path = f"/repositories/{lake}/refs/main/query"
    return member.api.post(path, json={"sql": sql.replace("LAKE", lake), **body})


def rows(member, lake, sql):
    response = queried(member, lake, sql)
    assert response.status_code == 200, response.text
    return response.json()["rows"]


@pytest.fixture(scope="module")
def lake(team):
    return team.repository(*PATHS)


def readers(team, lake):
    """Returns users who may read different parts of a repository."""
    listing = allow("fs:ListObjects", on=REPOSITORY.format(lake))
    branch = allow("fs:ReadBranch", on=REPOSITORY.format(f"{lake}/branch/main"))

    def reader(*statements):
        return team.member(listing, branch, *statements)

    return [
        team.admin,
        reader(allow("fs:ReadObject", on=OBJECT.format(lake, "*"))),
        reader(allow("fs:ReadObject", on=OBJECT.format(lake, "a/*"))),
        reader(
            allow("fs:ReadObject", on=OBJECT.format(lake, "*")),
            deny("fs:ReadObject", on=OBJECT.format(lake, "*secret*")),
        ),
        reader(allow("fs:ReadObject", on=OBJECT.format(lake, "none/*"))),
    ]


def test_objects_are_those_of_listings_over_rest_and_s3(team, lake):
    for member in readers(team, lake):
        listing = member.api.get(f"/repositories/{lake}/refs/main/objects/ls").json()["results"]
        expected = [
            [each["path"], each["size_bytes"], each["checksum"], each["physical_address"]]
            for each in listing
        ]
        sql = "SELECT path, size, checksum, physical_address FROM objects('LAKE', 'main')"
        assert rows(member, lake, sql) == expected
        listed = member.s3.list_objects_v2(Bucket=lake, Prefix="main/").get("Contents", [])
        sql = "SELECT 'main/' || path, size FROM objects('LAKE', 'main')"
        assert rows(member, lake, sql) == [[each["Key"], each["Size"]] for each in listed]
        sql = "SELECT path, change FROM changes('LAKE', 'main~1', 'main')"
        diff = member.api.get(f"/repositories/{lake}/refs/main~1/diff/main?type=two_dot").json()
        assert rows(member, lake, sql) == [[each["path"], each["type"]] for each in diff["results"]]
        log = member.api.get(f"/repositories/{lake}/refs/main/commits").json()["results"]
        assert rows(member, lake, "SELECT id FROM commits('LAKE', 'main')") == [
            [each["id"]] for each in log
        ]


def test_a_file_holds_what_its_user_may_read(team, lake):
    for member in readers(team, lake)[1:]:
        sql = "SELECT path FROM objects('LAKE', 'main')"
        response = queried(member, lake, sql, format="csv")
        assert response.status_code == 200
        _, *lines = csv.reader(io.StringIO(response.text, newline=""))
        assert lines == rows(member, lake, sql)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "call",
    [
        "objects('OTHER', 'main')",
        "object_metadata('OTHER', 'main')",
        "changes('OTHER', 'main~1', 'main')",
        "commits('OTHER', 'main')",
        "objects('no-such-lake', 'main')",
    ],
)
def test_the_permission_of_one_repository_is_none_on_another(team, lake, call):
    other = team.repository("hush")
    member = team.member(
        allow("fs:*", on=[REPOSITORY.format(lake), REPOSITORY.format(f"{lake}/*")])
    )
    for sql in (
        f"FROM {call}",
        f"SELECT count(*) FROM objects('LAKE', 'main') WHERE path IN (SELECT 'x' FROM {call})",
        f"CREATE VIEW objects AS FROM {call}; FROM objects",
    ):
        for body in ({}, {"format": "parquet"}):
            response = queried(member, lake, sql.replace("OTHER", other), **body)
            assert response.status_code == 401, sql
            assert "hush" not in response.text


def test_the_history_needs_the_permission_on_the_branch(team, lake):
    member = team.member(
        allow("fs:ListObjects", on=REPOSITORY.format(lake)),
        allow("fs:ReadBranch", on=REPOSITORY.format(f"{lake}/branch/other")),
    )
    assert queried(member, lake, "FROM commits('LAKE', 'main')").status_code == 401
    assert queried(member, lake, "FROM commits('LAKE', 'main~1')").status_code == 401
    assert queried(member, lake, "FROM objects('LAKE', 'main')").json()["rows"] == []
