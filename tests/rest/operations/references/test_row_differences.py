"""Differences of rows over HTTP: both kinds of differences, pages, permissions, bad input."""

from __future__ import annotations

import json

import pytest

BASE = "id,name,n\n1,a,1\n2,b,2\n3,c,3\n"


@pytest.fixture
def lake(api, repository):
    """A repository whose branches main and dev both changed `t.csv`."""
    lake = Lake(api, repository)
    lake.commit("main", "t.csv", BASE)
    body = {"name": "dev", "source": "main"}
    assert api.post(f"{lake.path}/branches", json=body).status_code == 201
    lake.commit("dev", "t.csv", BASE.replace("2,b,2", "2,b,9") + "4,d,4\n")
    lake.commit("main", "t.csv", BASE.replace("1,a,1\n", ""))
    return lake


class Lake:
    def __init__(self, api, repository):
        self.api = api
        self.path = f"/repositories/{repository}"

    def stage(self, branch, path, content):
        at = f"{self.path}/branches/{branch}/objects"
        if content is None:
            sent = self.api.delete(at, params={"path": path})
        else:
            sent = self.api.post(at, params={"path": path}, content=content)
        assert sent.status_code in (201, 204), sent.text

    def commit(self, branch, path, content):
        self.stage(branch, path, content)
        made = self.api.post(f"{self.path}/branches/{branch}/commits", json={"message": path})
        assert made.status_code == 201, made.text

    def rows(self, left="main", right="dev", path="t.csv", **params):
        at = f"{self.path}/refs/{left}/diff/{right}/rows"
        return self.api.get(at, params={"path": path, **params})


def summary(response):
    assert response.status_code == 200, response.text
    return [
        (each["kind"], each["key"]["id"], each["columns"]) for each in response.json()["results"]
    ]


def test_three_dots_are_the_changes_since_the_merge_base(lake):
    assert summary(lake.rows()) == [("changed", "2", ["n"]), ("added", "4", [])]
    changed, added = lake.rows().json()["results"]
    assert changed == {
        "kind": "changed",
        "key": {"id": "2"},
        "left": {"id": "2", "name": "b", "n": "2"},
        "right": {"id": "2", "name": "b", "n": "9"},
        "columns": ["n"],
        "count": 1,
    }
    assert added["left"] is None


def test_two_dots_compare_both_sides(lake):
    assert summary(lake.rows(type="two_dot")) == [
        ("added", "1", []),
        ("changed", "2", ["n"]),
        ("added", "4", []),
    ]
    assert summary(lake.rows("dev", "main", type="two_dot")) == [
        ("removed", "1", []),
        ("changed", "2", ["n"]),
        ("removed", "4", []),
    ]
    assert summary(lake.rows("main", "main", type="two_dot")) == []


def test_staged_changes_are_compared_on_request(lake):
    lake.stage("main", "t.csv", BASE.replace("1,a,1\n", "") + "5,e,5\n")
    assert summary(lake.rows("main", "main$", type="two_dot")) == [("added", "5", [])]
    assert summary(lake.rows("main", "main", type="two_dot")) == []


def test_pages(lake):
    first = lake.rows(type="two_dot", amount=2).json()
    assert [each["key"]["id"] for each in first["results"]] == ["1", "2"]
    assert first["pagination"] == {
        "has_more": True,
        "max_per_page": 1000,
        "next_offset": '{"matched_by":"found","key":["id"],"position":["2"]}',
        "results": 2,
    }
    rest = lake.rows(type="two_dot", after=first["pagination"]["next_offset"]).json()
    assert [each["key"]["id"] for each in rest["results"]] == ["4"]
    assert rest["pagination"]["has_more"] is False


def test_a_table_that_one_side_lacks_has_no_rows_there(lake):
    lake.commit("dev", "new.jsonl", b'{"id": 1}\n{"id": 2}\n')
    assert summary(lake.rows(path="new.jsonl")) == [("added", 1, []), ("added", 2, [])]
    lake.commit("dev", "t.csv", None)
    assert [each[0] for each in summary(lake.rows())] == ["removed"] * 3


def test_the_key_may_have_several_columns_and_the_format_be_given(lake):
    content = "id,part,v\n1,a,x\n1,b,y\n"
    lake.commit("dev", "t.data", content)
    response = lake.rows(path="t.data", format="csv", key=["id", "part"])
    keys = [each["key"] for each in response.json()["results"]]
    assert keys == [{"id": "1", "part": "a"}, {"id": "1", "part": "b"}]


def test_the_response_says_how_rows_are_matched(lake):
    def matching(**params):
        body = lake.rows(**params).json()
        return body["matched_by"], body["key"]

    assert matching() == ("found", ["id"])
    assert matching(key=["n", "id"]) == ("given", ["n", "id"])
    assert matching(whole_rows=True) == ("whole_rows", [])
    lake.commit("dev", "w.csv", "a\nx\nx\n")
    body = lake.rows(path="w.csv").json()
    assert (body["matched_by"], body["key"]) == ("whole_rows", [])
    assert body["results"] == [
        {"kind": "added", "key": {}, "left": None, "right": {"a": "x"}, "columns": [], "count": 2}
    ]


def offset(matched_by, key, *position):
    names = [key] if key else []
    return json.dumps({"matched_by": matched_by, "key": names, "position": position})


@pytest.mark.parametrize(
    ("params", "status", "message"),
    [
        ({"path": "absent.csv"}, 404, "not found"),
        ({"path": ""}, 400, "path"),
        ({"key": "nope"}, 400, "has no key column 'nope'"),
        ({"key": '"; DROP TABLE "left"; --'}, 400, "has no key column"),
        ({"key": "id\0"}, 400, "has no key column"),
        ({"key": ["id", "id"], "after": offset("given", "id", "2")}, 200, "results"),
        ({"key": ""}, 400, "key"),
        ({"after": offset("given", "n", "'); DROP TABLE x; --"), "key": "n"}, 200, "results"),
        ({"after": "7"}, 400, "argument after"),
        ({"after": '["2"]'}, 400, "argument after"),
        ({"after": offset("given", "n", "1", "2"), "key": "n"}, 400, "argument after"),
        ({"after": offset("given", "n", "1"), "key": "id"}, 400, "argument after"),
        ({"after": offset("found", "n", "1"), "key": "n"}, 400, "argument after"),
        ({"after": offset("found", "n", "1"), "whole_rows": True}, 400, "argument after"),
        ({"after": offset("given", "n", "1")}, 400, "argument after"),
        ({"after": offset("found", "nope", "1")}, 400, "has no key column"),
        ({"after": offset("found", "name", "1")}, 200, '"key":["name"]'),
        ({"after": offset("whole_rows", None, "1", "added")}, 200, '"whole_rows"'),
        ({"after": offset("whole_rows", None, "1", "x")}, 400, "argument after"),
        ({"after": offset("whole_rows", None, "-1", "added")}, 400, "argument after"),
        ({"after": offset("whole_rows", None, "9" * 30, "added")}, 400, "argument after"),
        ({"after": offset("whole_rows", None)}, 400, "argument after"),
        ({"after": offset("whole_rows", "id", "1", "added")}, 400, "argument after"),
        ({"whole_rows": True, "key": "id"}, 400, "exclude each other"),
        ({"amount": 1001}, 400, "amount"),
        ({"type": "four_dot"}, 400, "type"),
        ({"format": "xls"}, 400, "format"),
        ({"format": "parquet"}, 400, "cannot be read as Parquet"),
        ({"format": "jsonl"}, 400, "JSON"),
    ],
)
@pytest.mark.sample(3)
def test_bad_requests(lake, params, status, message):
    refused = lake.rows(**params)
    assert (refused.status_code, message in refused.text) == (status, True), refused.text


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("a.txt", b"no table", "a.txt is no table"),
        ("t.csv", b"id,n\n1,1\n1,2\n", "has the key id=1 more than once"),
        ("t.csv", b"\xff\xfei\0d\0\n", "UTF-16"),
        ("a.parquet", b"PAR1", "cannot be read as Parquet"),
        ("a.jsonl", json.dumps({"id": 1}).encode()[:-1], "line 1"),
    ],
)
def test_what_is_no_table_is_refused(lake, path, content, message):
    lake.commit("dev", path, content)
    refused = lake.rows(path=path, key="id")
    assert (refused.status_code, message in refused.text) == (400, True), refused.text
    assert refused.headers["X-Anabranch-Kind"] == "not_comparable"


@pytest.mark.parametrize(("left", "right"), [("nope", "dev"), ("main", "nope")])
def test_missing_references_are_not_found(lake, left, right):
    assert lake.rows(left, right).status_code == 404
