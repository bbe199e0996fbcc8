"""Rules and resolutions in all operations that merge: overlapping patterns, asynchronous merges,
pull requests, reverts, squash merges.
"""

from __future__ import annotations

import json

import pytest
from support.clients.diverged_lake import DivergedLake
from support.eventually import eventually

RULES = 'rules:\n  - {path: "*.json", strategy: json}\n  - {path: "**", strategy: dest-wins}\n'
BASE = {"a.json": '{"x": 1, "y": 1}', "b.txt": "0", "_lakefs_merge.yaml": RULES}
SOURCE = {"a.json": '{"x": 2, "y": 1}', "b.txt": "1"}
DESTINATION = {"a.json": '{"x": 1, "y": 2}', "b.txt": "2"}


@pytest.fixture
def lake(api, repository):
    """A repository with rules, whose branches dev and main both changed two objects."""
    lake = DivergedLake(api, repository)
    lake.diverge(BASE, SOURCE, DESTINATION)
    return lake


def merged(lake, ref="main"):
    return json.loads(lake.read("a.json", ref)), lake.read("b.txt", ref)


def test_of_patterns_that_overlap_the_first_settles_the_path(lake):
    resolutions = [
        {"path": "b.*", "strategy": "base"},
        {"path": "*.txt", "strategy": "source-wins"},
        {"path": "b.txt", "strategy": "delete"},
    ]
    preview = lake.merge(*resolutions, dry_run=True).json()
    assert preview["settled"] == [
        {"path": "a.json", "strategy": "json"},
        {"path": "b.txt", "strategy": "base"},
    ]
    again = lake.merge(*reversed(resolutions), dry_run=True).json()
    assert again["settled"][1] == {"path": "b.txt", "strategy": "delete"}
    assert lake.merge(*resolutions).status_code == 200
    assert merged(lake) == ({"x": 2, "y": 2}, "0")


@pytest.mark.parametrize("squash", [True, False])
def test_squash_merges_use_the_rules(lake, squash):
    head = lake.head()
    assert lake.merge(squash_merge=squash).status_code == 200
    assert merged(lake) == ({"x": 2, "y": 2}, "2")
    parents = lake.api.get(f"{lake.path}/commits/main").json()["parents"]
    assert parents == ([head] if squash else [head, lake.head("dev")])


def asynchronous(lake, body):
    """Returns the status of an asynchronous merge that has ended."""
    at = f"{lake.path}/refs/dev/merge/main/async"
    started = lake.api.post(at, json=body)
    assert started.status_code == 202, started.text
    place = f"{at}/{started.json()['id']}/status"
    eventually(lambda: lake.api.get(place).json()["completed"])
    return lake.api.get(place).json()


def test_asynchronous_merges_use_rules_and_resolutions(lake):
    resolution = {"path": "b.txt", "strategy": "source-wins"}
    status = asynchronous(lake, {"resolutions": [resolution]})
    assert status["result"] == {"reference": lake.head()}
    assert merged(lake) == ({"x": 2, "y": 2}, "1")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("resolution", "status", "message"),
    [
        ({"path": "b.txt", "strategy": "fail"}, 409, "conflict found"),
        ({"path": "a.json", "strategy": "rows", "format": "csv"}, 409, "conflict found: a.json: "),
        ({"path": "b.txt", "strategy": "best"}, 400, "resolutions[0]: unknown merge strategy"),
        ({"strategy": "base"}, 400, "resolutions[0]: path is missing"),
    ],
)
def test_asynchronous_merges_that_fail_tell_why_and_change_nothing(
    lake, resolution, status, message
):
    head = lake.head()
    ended = asynchronous(lake, {"resolutions": [resolution]})
    assert ended["status_code"] == status
    assert ended["error"]["message"].startswith(message)
    assert lake.head() == head


def test_pull_requests_use_rules_and_resolutions(lake):
    body = {"title": "t", "source_branch": "dev", "destination_branch": "main"}
    pull = lake.api.post(f"{lake.path}/pulls", json=body).json()["id"]
    at, head = f"{lake.path}/pulls/{pull}/merge", lake.head()
    refused = lake.api.put(at, json={"resolutions": [{"path": "b.txt", "strategy": "fail"}]})
    assert refused.status_code == 409
    assert [each["path"] for each in refused.json()["conflicts"]] == ["b.txt"]
    wrong = lake.api.put(at, json={"resolutions": [{"path": "b.txt", "strategy": "best"}]})
    assert wrong.status_code == 400
    assert lake.head() == head
    assert lake.api.get(f"{lake.path}/pulls/{pull}").json()["status"] == "open"
    choice = {"path": "b.*", "strategy": "source-wins"}
    assert lake.api.put(at, json={"resolutions": [choice]}).status_code == 200
    assert merged(lake) == ({"x": 2, "y": 2}, "1")


def test_reverts_use_rules_and_resolutions(lake):
    undone = lake.head()
    lake.commit("main", {"a.json": '{"x": 5, "y": 2}', "b.txt": "5"})
    head = lake.head()
    at = f"{lake.path}/branches/main"
    fail = {"resolutions": [{"path": "b.txt", "strategy": "fail"}]}
    revert = {"ref": undone, "parent_number": 0}
    refused = lake.api.post(f"{at}/revert", json={**revert, **fail})
    assert refused.status_code == 409
    several = {"refs": [undone], **fail}
    refused = lake.api.post(f"{at}/reverts", json=several)
    assert (refused.status_code, refused.json()["commit_id"]) == (409, undone)
    assert lake.head() == head
    # as in git, the source of a revert is the parent of the commit
    choice = {"resolutions": [{"path": "b.txt", "strategy": "source-wins"}]}
    assert lake.api.post(f"{at}/revert", json={**revert, **choice}).status_code == 204
    assert merged(lake) == ({"x": 5, "y": 1}, "0")
    assert lake.api.post(f"{lake.path}/branches", json={"name": "b", "source": head}).is_success
    made = lake.api.post(f"{lake.path}/branches/b/reverts", json={"refs": [undone]})
    assert made.status_code == 200, made.text
    assert merged(lake, "b") == ({"x": 5, "y": 1}, "5")


def test_a_rebase_uses_the_rules_of_the_new_base(lake):
    rebased = lake.api.post(f"{lake.path}/branches/dev/rebase", json={"onto": "main"})
    assert rebased.status_code == 200, rebased.text
    assert merged(lake, "dev") == ({"x": 2, "y": 2}, "2")
    assert lake.api.get(f"{lake.path}/commits/dev").json()["parents"] == [lake.head()]


def test_a_cherry_pick_uses_the_rules_of_the_branch(lake):
    picked = lake.api.post(f"{lake.path}/branches/main/cherry-pick", json={"ref": "dev"})
    assert picked.status_code == 201, picked.text
    assert merged(lake) == ({"x": 2, "y": 2}, "2")


ROWS = {"path": "t.csv", "strategy": "rows", "key": ["id"]}


def test_a_conflict_of_rows_tells_key_column_and_values(api, new_repository):
    lake = DivergedLake(api, new_repository())
    lake.diverge(
        {"t.csv": "id,a,b\n1,x,y\n2,x,y\n"},
        {"t.csv": "id,a,b\n1,S,y\n"},
        {"t.csv": "id,a,b\n1,D,y\n2,x,D\n"},
    )
    refused = lake.merge(ROWS)
    assert refused.status_code == 409
    (entry,) = refused.json()["conflicts"]
    assert (entry["path"], entry["strategy"]) == ("t.csv", "rows")
    assert sorted(entry["details"], key=lambda detail: detail["column"]) == [
        {
            "key": {"id": "2"},
            "column": "",
            "base": {"a": "x", "b": "y"},
            "source": None,
            "destination": {"a": "x", "b": "D"},
            "message": "",
        },
        {
            "key": {"id": "1"},
            "column": "a",
            "base": "x",
            "source": "S",
            "destination": "D",
            "message": "",
        },
    ]
    assert lake.merge(ROWS, dry_run=True).json()["conflicts"] == [entry]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("id,a\n1,x\n1,y\n", "the source has the key id=1 more than once"),
        ("a\nx\n", "the source has no key column 'id'"),
        (b"\xff\xfei\0d\0\n", "the source has bytes that are not UTF-16 LE"),
        ('id,a\n1,"x', "the source cannot be read as CSV: it ends within quotes"),
    ],
)
def test_tables_that_cannot_be_merged_are_refused_with_the_reason(
    api, new_repository, source, reason
):
    lake = DivergedLake(api, new_repository())
    lake.diverge({"t.csv": "id,a\n"}, {"t.csv": source}, {"t.csv": "id,a\n2,y\n"})
    head = lake.head()
    refused = lake.merge(ROWS)
    assert refused.status_code == 409
    assert refused.json()["message"].startswith(f"conflict found: t.csv: {reason}")
    assert refused.json()["conflicts"][0]["reason"].startswith(reason)
    assert lake.head() == head
