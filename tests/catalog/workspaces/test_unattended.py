"""Merges of workspaces by their keys: where a rule lets them through, and only of their own."""

from __future__ import annotations

import pytest

from anabranch.catalog.workspaces.unattended import parse_auto_merge
from anabranch.errors import Conflict, Denied, HookFailed, Invalid, PreconditionFailed
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
