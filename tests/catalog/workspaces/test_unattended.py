"""Merges of workspaces by their keys: where a rule lets them through, and only of their own."""

from __future__ import annotations

import pytest

from anabranch.catalog.workspaces.unattended import parse_auto_merge
from anabranch.errors import Conflict, Denied, HookFailed, Invalid, PreconditionFailed
from anabranch.model.caller import Caller, acting_as
from anabranch.model.references.workspace_request import WorkspaceRequest

CHECK = """
name: {name}
on:
  pre-merge:
    branches: ["{branch}"]
hooks:
  - id: check
    type: lua
    properties:
      script: {script}
"""


@pytest.fixture
def sea(lake):
    put(lake, "main", "in/a.csv", b"a")
    lake.commits.commit("sea", "main", message="data", committer="ann")
    return lake


def put(lake, branch, path, content):
    lake.objects.upload("sea", branch, path, [content])


def add_check(lake, name="schema", branch="main", script="print('fine')"):
    text = CHECK.format(name=name, branch=branch, script=script)
    put(lake, "main", f"_lakefs_actions/{name}.yaml", text.encode())
    lake.commits.commit("sea", "main", message=name, committer="ann")


def proposed(lake, name="ws-1"):
    request = WorkspaceRequest(source="main", branch=name, writable=["out/**"])
    lake.workspaces.create("sea", request)
    put(lake, name, f"out/{name}.csv", b"1")
    return lake.workspaces.propose("sea", name, author="ann", committer="ann").id


def merge(lake, *rules, name="ws-1"):
    return lake.workspace_merges.merge_unattended(
        "sea", name, parse_auto_merge(rules), committer="ann"
    )


def is_merged(lake, pull):
    return lake.pulls.get("sea", pull).status == "merged"


@pytest.mark.parametrize(
    "rules", [[], ["staging-*"], ["mai"], ["main=schema"], ["ma*=schema+rows"]]
)
def test_without_a_rule_that_holds_nothing_is_merged(sea, rules):
    pull = proposed(sea)
    with pytest.raises(Denied, match="need a person"):
        merge(sea, *rules)
    assert not is_merged(sea, pull)


def test_a_rule_lets_a_merge_through(sea):
    pull = proposed(sea)
    commit = merge(sea, "staging-*", "ma*")
    assert sea.objects.open("sea", commit, "out/ws-1.csv").read_bytes() == b"1"
    assert is_merged(sea, pull)
    with pytest.raises(Invalid):
        merge(sea, "main")


def test_required_actions_must_run_before_merges_into_the_branch(sea):
    add_check(sea, "schema", branch="other")
    proposed(sea)
    with pytest.raises(Denied, match="need a person"):
        merge(sea, "main=schema")
    add_check(sea, "schema", branch="main")
    with pytest.raises(Denied, match="need a person"):
        merge(sea, "main=schema+rows")
    add_check(sea, "rows", branch="ma*")
    merge(sea, "main=schema+rows")


def test_a_required_action_that_fails_refuses_the_merge(sea):
    add_check(sea, "schema", script="error('wrong')")
    pull = proposed(sea)
    with pytest.raises((PreconditionFailed, HookFailed)):
        merge(sea, "main=schema")
    assert not is_merged(sea, pull)


def test_what_others_have_committed_to_the_branch_needs_a_person(sea):
    pull = proposed(sea)
    put(sea, "ws-1", "in/b.csv", b"b")
    sea.commits.commit("sea", "ws-1", message="by another", committer="bob")
    with pytest.raises(Denied, match="may not make"):
        merge(sea, "main")
    assert not is_merged(sea, pull)
    sea.workspace_merges.merge("sea", "ws-1", committer="ann")
    assert is_merged(sea, pull)


def test_a_commit_after_the_changes_were_looked_at_refuses_the_merge(sea, monkeypatch):
    pull = proposed(sea)
    look = sea.refs.diff

    def then_another_commits(*args, **kwargs):
        page = look(*args, **kwargs)
        put(sea, "ws-1", "in/b.csv", b"b")
        sea.commits.commit("sea", "ws-1", message="by another", committer="bob")
        return page

    monkeypatch.setattr(sea.refs, "diff", then_another_commits)
    with pytest.raises(Conflict, match="moved"):
        merge(sea, "main")
    assert not is_merged(sea, pull)


def test_a_workspace_that_ends_while_checks_run_is_not_merged_by_its_keys(sea, clock, monkeypatch):
    """A person may still merge it."""
    pull = proposed(sea)
    look = sea.refs.diff

    def then_it_ends(*args, **kwargs):
        page = look(*args, **kwargs)
        clock.now = sea.branches.get("sea", "ws-1").expires_at
        return page

    monkeypatch.setattr(sea.refs, "diff", then_it_ends)
    with pytest.raises(Conflict, match="expired"):
        merge(sea, "main")
    assert not is_merged(sea, pull)
    sea.workspace_merges.merge("sea", "ws-1", committer="bob")
    assert is_merged(sea, pull)


def test_required_approvals_are_not_overridden(sea):
    pull = proposed(sea)
    sea.protection.replace("sea", ["main"], approvals={"main": 1})
    with pytest.raises(Denied, match="approval"):
        merge(sea, "main")
    assert not is_merged(sea, pull)


def test_a_workspace_without_a_proposal_is_not_merged(sea):
    sea.workspaces.create("sea", WorkspaceRequest(source="main", branch="ws-2"))
    with pytest.raises(Invalid, match="not proposed"):
        merge(sea, "main", name="ws-2")


@pytest.mark.parametrize("text", ["", "=schema", "main=", "main=+", "[", "main=a+"])
def test_a_wrong_rule_is_refused(text):
    with pytest.raises(Invalid):
        parse_auto_merge([text])


def by_keys(lake, *rules, name="ws-1"):
    with acting_as(Caller("ann", workspace=name)):
        return merge(lake, *rules, name=name)


@pytest.mark.parametrize("event", ["post-commit", "post-merge"])
def test_code_of_hooks_that_came_later_is_not_replaced_by_keys(sea, event):
    pull = proposed(sea)
    action = CHECK.format(name="later", branch="main", script="x").replace("pre-merge", event)
    action = action.replace("script: x", "script_path: out/ws-1.csv")
    put(sea, "main", "_lakefs_actions/later.yaml", action.encode())
    sea.commits.commit("sea", "main", message="a hook", committer="bob")
    with pytest.raises(Denied, match="is code of hooks"):
        by_keys(sea, "main")
    assert not is_merged(sea, pull)


@pytest.mark.parametrize("path", ["_lakefs_merge", "_lakefs/merge.yaml", "out/../x"])
def test_paths_that_keys_never_write_need_a_person(sea, path):
    sea.workspaces.create("sea", WorkspaceRequest(source="main", branch="ws-1", writable=["**"]))
    put(sea, "ws-1", "a.csv", b"1")
    pull = sea.workspaces.propose("sea", "ws-1", author="ann", committer="ann").id
    put(sea, "ws-1", path, b"")
    sea.commits.commit("sea", "ws-1", message="by another", committer="bob")
    with pytest.raises(Denied, match="may not make"):
        merge(sea, "main")
    assert not is_merged(sea, pull)


def test_what_the_source_has_beyond_the_destination_needs_a_person(sea):
    sea.branches.create("sea", "dev", "main")
    put(sea, "dev", "in/unreviewed.csv", b"b")
    sea.commits.commit("sea", "dev", message="not for main yet", committer="bob")
    sea.workspaces.create("sea", WorkspaceRequest(source="dev", branch="ws-1", writable=["out/**"]))
    put(sea, "ws-1", "out/a.csv", b"1")
    pull = sea.workspaces.propose(
        "sea", "ws-1", destination="main", author="ann", committer="ann"
    ).id
    with pytest.raises(Denied, match="may not make"):
        merge(sea, "main")
    assert not is_merged(sea, pull)


def test_a_commit_that_was_there_for_a_moment_is_not_merged(sea, monkeypatch):
    pull = proposed(sea)
    head = sea.branches.get("sea", "ws-1").commit_id
    look, read_approvals = sea.refs.diff, sea.pulls._reviews.require_approvals
    moved = []

    def then_another_commits(*args, **kwargs):
        page = look(*args, **kwargs)
        put(sea, "ws-1", "in/b.csv", b"b")
        moved.append(sea.commits.commit("sea", "ws-1", message="by another", committer="bob"))
        return page

    def then_it_is_taken_back(*args, **kwargs):
        if moved.pop() if moved else None:
            sea.branches.hard_reset("sea", "ws-1", head)
        return read_approvals(*args, **kwargs)

    monkeypatch.setattr(sea.refs, "diff", then_another_commits)
    monkeypatch.setattr(sea.pulls._reviews, "require_approvals", then_it_is_taken_back)
    with pytest.raises(Denied, match="may not make"):
        merge(sea, "main")
    assert not is_merged(sea, pull)
