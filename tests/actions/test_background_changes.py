"""Hooks of changes that other threads make, of pull requests, and garbage collection meanwhile."""

from __future__ import annotations

import pytest
from support.changes import Background
from support.eventually import eventually

from anabranch.errors import PreconditionFailed
from anabranch.model.caller import Caller, acting_as
from anabranch.model.imports import ImportSource
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.imports.commit_import import ImportRequest


def put(lake, branch, path):
    lake.objects.upload("sea", branch, path, [b"x"])


def commit(lake, branch="main", extra_writes=()):
    return lake.commits.commit(
        "sea", branch, message="a commit", committer="ann", extra_writes=extra_writes
    )


def status(lake, task_id):
    return lake.branch_tasks.commits.status("sea", "main", task_id)


@pytest.mark.parametrize("decision", [True, False])
def test_asynchronous_commit_runs_hooks_for_its_caller(lake, webhook, add_action, decision):
    add_action("pre-commit", "post-commit")
    callers = []
    access_for = lake.engine._runner._access_for

    def recording_access_for(event, *rest):
        callers.append(event.username)
        return access_for(event, *rest)

    lake.engine._runner._access_for = recording_access_for
    webhook.decide = lambda _: decision
    put(lake, "main", "a.txt")
    with acting_as(Caller("ann@example")):
        task = lake.branch_tasks.commits.start(
            "sea", "main", Background(lambda completion: commit(lake, extra_writes=completion))
        )
    eventually(lambda: status(lake, task).ended)
    ended = status(lake, task)
    if decision:
        assert ended.commit.id == lake.branches.get("sea", "main").commit_id
        assert callers == ["ann@example"]
    else:
        assert (ended.status_code, ended.commit) == (412, None)
        assert "pre-commit hook aborted" in ended.error
        assert webhook.of("post-commit") == []


@pytest.mark.parametrize("decision", [True, False])
def test_import_runs_the_hooks_of_commits(lake, tmp_path, webhook, add_action, decision):
    add_action("pre-commit", "post-commit")
    webhook.decide = lambda _: decision
    (tmp_path / "outside" / "a.txt").write_text("a")
    source = ImportSource(
        type="common_prefix", path=f"local://{tmp_path}/outside/", destination="in/"
    )
    head = lake.branches.get("sea", "main").commit_id
    task = lake.imports.start(
        "sea", ImportRequest(branch="main", sources=[source], committer="ann")
    )
    eventually(lambda: lake.imports.status("sea", "main", task).ended)
    ended = lake.imports.status("sea", "main", task)
    assert webhook.of("pre-commit")[0]["commit_message"] == "Import objects"
    if decision:
        assert ended.commit.id == lake.branches.get("sea", "main").commit_id
        eventually(lambda: webhook.of("post-commit"))
    else:
        assert "pre-commit hook aborted" in ended.error
        assert lake.branches.get("sea", "main").commit_id == head


@pytest.mark.parametrize("decision", [True, False])
def test_merge_of_a_pull_request_runs_the_hooks_of_merges(lake, webhook, add_action, decision):
    add_action("pre-merge")
    lake.branches.create("sea", "dev", "main")
    put(lake, "dev", "b.txt")
    commit(lake, "dev")
    pull = lake.pulls.create("sea", title="b", source="dev", destination="main", author="ann")
    webhook.decide = lambda _: decision
    if decision:
        merged = lake.pulls.merge("sea", pull.id, committer="ann")
        assert webhook.events[0]["merged_ref"] == merged
        assert webhook.events[0]["merge_source"] == "dev"
        assert lake.pulls.get("sea", pull.id).merged_commit_id == merged
    else:
        with pytest.raises(PreconditionFailed, match="pre-merge hook aborted"):
            lake.pulls.merge("sea", pull.id, committer="ann")
        assert lake.pulls.get("sea", pull.id).status == "open"


def test_garbage_collection_keeps_what_hooks_examine_and_no_longer(lake, webhook, add_action):
    add_action("pre-commit")
    stored = lake.core.repositories.get("sea")
    strictest = RetentionRules(default_days=0)
    trees = []

    def roots():
        pinned = lake.core.pins.commits(stored)
        now = lake.engine.clock() + 60
        return lake.core.rules.read_commits(stored, strictest, now, pinned).active_trees

    def decide(event):
        trees.append(lake.commits.get("sea", event["merged_ref"]).metarange_id)
        trees.append(roots())
        return False

    webhook.decide = decide
    put(lake, "main", "a.txt")
    with pytest.raises(PreconditionFailed):
        commit(lake)
    tree, meanwhile = trees
    assert tree in meanwhile
    assert tree not in roots()


def test_result_of_a_merge_by_content_can_be_read_before_it_is_made(lake, webhook, add_action):
    add_action("pre-merge")
    lake.objects.upload("sea", "main", "t.json", [b'{"a": 1, "b": 1}'])
    commit(lake)
    lake.branches.create("sea", "dev", "main")
    lake.objects.upload("sea", "dev", "t.json", [b'{"a": 2, "b": 1}'])
    commit(lake, "dev")
    lake.objects.upload("sea", "main", "t.json", [b'{"a": 1, "b": 2}'])
    rules = b'rules: [{path: "*.json", strategy: json}]'
    lake.objects.upload("sea", "main", "_lakefs_merge.yaml", [rules])
    commit(lake)
    seen = []

    def decide(event):
        opened = lake.objects.open("sea", event["merged_ref"], "t.json")
        seen.append(opened.read_bytes().replace(b"\n", b"").replace(b" ", b""))
        return True

    webhook.decide = decide
    made = lake.refs.merge("sea", "dev", "main", committer="ann")
    assert seen == [b'{"a":2,"b":2}']
    content = lake.objects.open("sea", made, "t.json").read_bytes()
    assert content.replace(b"\n", b"").replace(b" ", b"") == seen[0]
