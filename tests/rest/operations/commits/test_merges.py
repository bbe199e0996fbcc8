"""Conflicts of merges, choices for single paths, and dry runs, over HTTP."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.clients.diverged_lake import DivergedLake


@pytest.fixture
def lake(api, repository):
    return DivergedLake(api, repository)


@pytest.fixture
def apart(lake):
    lake.diverge(
        {"both": "0", "gone/here": "0", "gone/there": "0"},
        {"both": "1", "gone/here": "1", "gone/there": None, "twice": "1"},
        {"both": "2", "gone/here": None, "gone/there": "2", "twice": "2"},
    )
    return lake


def test_conflicts_are_listed_with_their_kinds_and_objects(apart):
    body = apart.conflicts().json()
    assert [(each["path"], each["kind"]) for each in body["results"]] == [
        ("both", "both_changed"),
        ("gone/here", "changed_deleted"),
        ("gone/there", "deleted_changed"),
        ("twice", "added_twice"),
    ]
    both, here, there, twice = body["results"]
    assert both["source"]["path"] == "both"
    assert both["source"]["size_bytes"] == 1
    assert both["base"]["physical_address"].startswith("local://")
    assert here["destination"] is there["source"] is twice["base"] is None
    assert body["pagination"]["has_more"] is False


def test_conflicts_are_listed_in_pages_and_by_prefix(apart):
    first = apart.conflicts(amount=1).json()
    assert first["pagination"]["has_more"] is True
    assert first["pagination"]["next_offset"] == "both"
    rest = apart.conflicts(after="both").json()["results"]
    assert [each["path"] for each in rest] == ["gone/here", "gone/there", "twice"]
    below = apart.conflicts(prefix="gone/").json()["results"]
    assert [each["path"] for each in below] == ["gone/here", "gone/there"]


@pytest.mark.parametrize("path", ["refs/dev/merge/nope", "refs/nope/merge/main"])
def test_conflicts_of_missing_references_are_not_found(apart, api, path):
    assert api.get(f"{apart.path}/{path}/conflicts").status_code == 404


def test_a_merge_without_rules_has_the_response_of_lakefs(apart):
    refused = apart.merge()
    assert refused.status_code == 409
    assert refused.json()["conflicts"] == ["both", "gone/here", "gone/there", "twice"]
    assert refused.json()["reference"] == ""


def test_a_dry_run_reports_and_changes_nothing(apart):
    head = apart.head()
    answer = apart.merge({"path": "gone/*", "strategy": "source-wins"}, dry_run=True)
    assert answer.status_code == 200
    body = answer.json()
    assert body["summary"] == {"added": 1, "changed": 0, "removed": 0}
    assert body["settled"] == [
        {"path": "gone/here", "strategy": "source-wins"},
        {"path": "gone/there", "strategy": "source-wins"},
    ]
    assert [each["path"] for each in body["conflicts"]] == ["both", "twice"]
    assert (body["settled_count"], body["conflict_count"]) == (2, 2)
    assert apart.head() == head


def test_a_dry_run_ignores_uncommitted_changes(apart, api):
    at = f"{apart.path}/branches/main/objects"
    assert api.post(at, params={"path": "staged"}, content=b"s").status_code == 201
    assert apart.merge(dry_run=True).status_code == 200
    assert apart.merge(strategy="source-wins").json()["message"].startswith("uncommitted")


def test_each_path_gets_its_choice_and_the_first_match_counts(apart):
    merged = apart.merge(
        {"path": "both", "strategy": "base"},
        {"path": "gone/**", "strategy": "delete"},
        {"path": "**", "strategy": "source-wins"},
        {"path": "twice", "strategy": "dest-wins"},
    )
    assert merged.status_code == 200, merged.text
    assert [apart.read(path) for path in ("both", "gone/here", "gone/there", "twice")] == [
        "0",
        None,
        None,
        "1",
    ]
    assert merged.json() == {"reference": apart.head()}


def test_failing_choices_are_told_as_entries(apart):
    refused = apart.merge({"path": "both", "strategy": "fail"}, strategy="source-wins")
    assert refused.status_code == 409
    (entry,) = refused.json()["conflicts"]
    assert (entry["path"], entry["kind"]) == ("both", "both_changed")
    assert entry["destination"]["size_bytes"] == 1


def test_conflicts_of_content_tell_the_place_and_the_values(lake):
    lake.diverge({"a": '{"x": 1}'}, {"a": '{"x": 2}'}, {"a": '{"x": 3}'})
    resolution = {"path": "*", "strategy": "json"}
    (entry,) = lake.merge(resolution).json()["conflicts"]
    assert entry["strategy"] == "json"
    assert entry["details"] == [
        {
            "key": {"pointer": "/x"},
            "column": "",
            "message": "",
            "base": 1,
            "source": 2,
            "destination": 3,
        }
    ]
    assert lake.merge(resolution, dry_run=True).json()["conflicts"] == [entry]


def test_rules_of_the_destination_are_used_by_every_kind_of_merge(lake, api):
    rules = 'rules:\n  - {path: "*.json", strategy: json}\n'
    lake.diverge(
        {"a.json": '{"x": 1, "y": 1}', "_lakefs_merge.yaml": rules},
        {"a.json": '{"x": 2, "y": 1}'},
        {"a.json": '{"x": 1, "y": 2}'},
    )
    head, dev = lake.head(), api.get(f"{lake.path}/branches/dev").json()["commit_id"]
    branch = f"{lake.path}/branches"

    def at(name):
        assert api.post(branch, json={"name": name, "source": head}).status_code == 201
        return f"{branch}/{name}"

    picked = api.post(f"{at('picked')}/cherry-pick", json={"ref": dev})
    assert picked.status_code == 201, picked.text
    rebased = api.post(f"{at('rebased')}/rebase", json={"onto": dev})
    assert rebased.status_code == 200, rebased.text
    at("pulled")
    body = {"title": "t", "source_branch": "dev", "destination_branch": "pulled"}
    pull = api.post(f"{lake.path}/pulls", json=body).json()["id"]
    preview = api.put(f"{lake.path}/pulls/{pull}/merge", json={"dry_run": True}).json()
    assert preview["settled"] == [{"path": "a.json", "strategy": "json"}]
    assert api.put(f"{lake.path}/pulls/{pull}/merge", json={}).status_code == 200
    assert lake.merge(squash_merge=True).status_code == 200
    for ref in ("picked", "rebased", "pulled", "main"):
        assert json.loads(lake.read("a.json", ref)) == {"x": 2, "y": 2}
    # undo the commit of dev after another change of the same document
    reverted = api.post(f"{branch}/pulled/revert", json={"ref": dev, "parent_number": 0})
    assert reverted.status_code == 204, reverted.text
    assert json.loads(lake.read("a.json", "pulled")) == {"x": 1, "y": 2}


def test_choices_of_the_request_are_used_by_cherry_picks_and_rebases(apart, api):
    dev = api.get(f"{apart.path}/branches/dev").json()["commit_id"]
    choice = {"resolutions": [{"path": "**", "strategy": "source-wins"}]}
    refused = api.post(f"{apart.path}/branches/main/cherry-pick", json={"ref": dev})
    assert refused.status_code == 409
    at = f"{apart.path}/branches/main"
    assert api.post(f"{at}/cherry-pick", json={"ref": dev, **choice}).status_code == 201
    assert apart.read("both") == "1"
    at = f"{apart.path}/branches/dev"
    rebased = api.post(f"{at}/rebase", json={"onto": "main~1", "strategy": "dest-wins"})
    assert rebased.status_code == 200, rebased.text
    assert apart.read("both", "dev") == "2"


def test_invalid_rules_of_the_destination_are_refused_with_line_and_field(apart):
    apart.commit("main", {"_lakefs_merge.yaml": "rules:\n  - {path: a, strategy: best}\n"})
    refused = apart.merge(strategy="source-wins")
    assert refused.status_code == 400
    assert refused.json()["message"].startswith(
        "_lakefs_merge.yaml, line 2: field rules[0].strategy: unknown merge strategy 'best'"
    )
    assert refused.headers["X-Anabranch-Kind"] == "invalid_merge_rules"


@pytest.mark.parametrize(
    ("resolution", "reason"),
    [
        ({}, "resolutions[0]: path is missing"),
        ({"strategy": "base"}, "resolutions[0]: path is missing"),
        ({"path": "", "strategy": "base"}, "resolutions[0]: path is missing"),
        ({"path": 7, "strategy": "base"}, "resolutions[0]: path must be text"),
        ({"path": "a"}, "resolutions[0]: needs either a strategy or a physical_address"),
        ({"path": "a", "strategy": "base", "physical_address": "x"}, "needs either"),
        ({"path": "a", "strategy": "best"}, "resolutions[0]: unknown merge strategy 'best'"),
        ({"path": "a", "strategy": "base", "key": 1}, "the strategy base has no option 'key'"),
        ({"path": "a", "strategy": "text", "key": 1}, "the strategy text has no option 'key'"),
        ({"path": "a", "physical_address": "x", "key": 1}, "key is unknown beside"),
    ],
)
@pytest.mark.sample(5)
def test_wrong_resolutions_are_refused(apart, resolution, reason):
    head = apart.head()
    for more in ({}, {"dry_run": True}):
        refused = apart.merge(resolution, **more)
        assert refused.status_code == 400, refused.text
        assert reason in refused.json()["message"]
    assert apart.head() == head


@pytest.mark.parametrize("given", [7, [7], {"path": "a"}, ["a"]])
def test_resolutions_of_another_shape_are_refused(apart, api, given):
    body = {"resolutions": given}
    assert api.post(f"{apart.path}/refs/dev/merge/main", json=body).status_code == 400


def new_address(lake, path):
    at = f"{lake.path}/branches/main/staging/backing"
    return lake.api.get(at, params={"path": path}).json()["physical_address"]


def test_a_stored_object_settles_a_conflict(apart):
    address = new_address(apart, "both")
    file = Path(address.removeprefix("local://"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"given")
    given = {
        "path": "both",
        "physical_address": address,
        "content_type": "text/x-abc",
        "user_metadata": {"k": "v"},
    }
    assert apart.merge({**given, "size_bytes": 4}, strategy="dest-wins").status_code == 400
    preview = apart.merge(given, strategy="dest-wins", dry_run=True).json()
    assert {"path": "both", "strategy": "physical_address"} in preview["settled"]
    assert apart.merge(given, strategy="dest-wins").status_code == 200
    assert apart.read("both") == "given"
    stat = apart.api.get(f"{apart.path}/refs/main/objects/stat", params={"path": "both"}).json()
    assert (stat["content_type"], stat["metadata"]) == ("text/x-abc", {"k": "v"})
    assert stat["checksum"] == hashlib.md5(b"given").hexdigest()


def test_addresses_that_were_not_issued_for_the_path_are_refused(apart):
    issued = new_address(apart, "twice")
    found = apart.conflicts().json()["results"][0]["source"]["physical_address"]
    for address in (issued, found, new_address(apart, "both")):
        refused = apart.merge({"path": "both", "physical_address": address}, strategy="dest-wins")
        assert refused.status_code == 400, refused.text
    elsewhere = {"path": "both", "physical_address": "s3://elsewhere/object"}
    assert apart.merge(elsewhere, strategy="dest-wins").status_code == 403


def test_an_asynchronous_dry_run_is_refused(apart, api):
    sent = api.post(f"{apart.path}/refs/dev/merge/main/async", json={"dry_run": True})
    assert sent.status_code == 400


def test_a_repeated_merge_with_rules_is_made_once(apart, api):
    body = {"resolutions": [{"path": "**", "strategy": "source-wins"}]}
    headers = {"Idempotency-Key": "merge-once"}
    at = f"{apart.path}/refs/dev/merge/main"
    first, second = (api.post(at, json=body, headers=headers) for _ in range(2))
    assert first.status_code == second.status_code == 200
    assert first.json() == second.json()


@pytest.mark.slow
def test_a_refusal_names_100_conflicts_and_a_dry_run_counts_all(api, repository):
    lake = DivergedLake(api, repository)
    paths = [f"{number:03}" for number in range(101)]
    lake.diverge(*(dict.fromkeys(paths, content) for content in "012"))
    refused = lake.merge().json()
    assert (refused["conflicts"], refused["has_more"]) == (paths[:100], True)
    assert "conflict_count" not in refused
    assert lake.merge(dry_run=True).json()["conflict_count"] == 101
    rest = lake.conflicts(after=refused["conflicts"][-1]).json()["results"]
    assert [each["path"] for each in rest] == ["100"]
