"""lakefs-sdk: runs of hooks."""

from __future__ import annotations

import lakefs_sdk
import pytest
from support.hooks.hook_runs import ONLY_TABLES


@pytest.fixture
def actions(repo):
    return repo.sdk.actions_api


@pytest.fixture
def guarded(repo):
    """The repository with an action, committed."""
    repo.save("_lakefs_actions/tables.yaml", ONLY_TABLES.encode())
    return repo


def runs(repo, **filters):
    return repo.sdk.actions_api.list_repository_runs(repo.id, **filters).results


def test_a_commit_that_hooks_accept_has_a_run_that_names_it(guarded):
    commit = guarded.save("tables/a.csv", b"a,b\n1,2\n")
    run = runs(guarded, commit=commit.id)[0]
    assert (run.status, run.event_type, run.branch) == ("completed", "pre-commit", "main")
    assert run.commit_id == commit.id
    assert run.start_time <= run.end_time
    assert guarded.sdk.actions_api.get_run(guarded.id, run.run_id) == run
    hooks = guarded.sdk.actions_api.list_run_hooks(guarded.id, run.run_id).results
    assert [(hook.hook_run_id, hook.hook_id, hook.status) for hook in hooks] == [
        ("0000_0000", "only_tables", "completed"),
        ("0000_0001", "after_success", "completed"),
        ("0000_0002", "after_failure", "completed"),
    ]
    assert {hook.action for hook in hooks} == {"only tables"}


def test_a_refused_commit_has_a_run_whose_output_says_why(guarded, actions, refused):
    guarded.put("elsewhere/a.csv")
    with refused(412, "pre-commit hook aborted, run id '") as caught:
        guarded.commit()
    run = runs(guarded)[0]
    assert run.run_id in caught.value.body
    assert (run.status, run.commit_id) == ("failed", "")
    hooks = actions.list_run_hooks(guarded.id, run.run_id).results
    assert [hook.status for hook in hooks] == ["failed", "failed", "completed"]
    outputs = [
        guarded.sdk.actions_api.get_run_hook_output(guarded.id, run.run_id, hook.hook_run_id)
        for hook in hooks
    ]
    assert b"elsewhere/a.csv" in outputs[0]
    assert outputs[1] == b""  # it was skipped


def test_runs_are_listed_in_pages_the_newest_first_and_by_branch(guarded, actions, refused):
    guarded.branch("main-2")
    for number in range(3):
        guarded.save(f"tables/{number}.csv", b"a\n1\n", branch="main-2")
    guarded.branch("main-2-sub", "main-2")
    guarded.save("tables/x.csv", b"a\n1\n", branch="main-2-sub")
    listed = runs(guarded, branch="main-2")
    assert [run.branch for run in listed] == ["main-2"] * 3
    times = [run.start_time for run in listed]
    assert times == sorted(times, reverse=True)
    first = actions.list_repository_runs(guarded.id, branch="main-2", amount=2)
    assert first.results == listed[:2]
    assert first.pagination.has_more
    assert first.pagination.next_offset == listed[1].run_id
    rest = actions.list_repository_runs(
        guarded.id, branch="main-2", amount=2, after=first.pagination.next_offset
    )
    assert (rest.results, rest.pagination.has_more) == (listed[2:], False)
    hooks = actions.list_run_hooks(guarded.id, listed[0].run_id, amount=1)
    assert hooks.pagination.next_offset == "0000_0000"
    more = actions.list_run_hooks(guarded.id, listed[0].run_id, after="0000_0000").results
    assert [hook.hook_run_id for hook in more] == ["0000_0001", "0000_0002"]
    with refused(400, "can't use both branchID and MergedCommitID: parameters conflict"):
        actions.list_repository_runs(guarded.id, branch="main", commit="x")


def test_a_missing_run_is_not_found(repo, actions, refused):
    assert runs(repo) == []
    with refused(404, "not found: not found"):
        actions.get_run(repo.id, "x")
    with refused(404, "not found"):
        actions.list_run_hooks(repo.id, "x")
    with refused(404, "not found"):
        actions.get_run_hook_output(repo.id, "x", "0000_0000")
    with refused(404, "repository not found"):
        actions.list_repository_runs("no-such-repository")


def test_hooks_of_tags_run_for_the_sdk(guarded):
    creation = lakefs_sdk.TagCreation(id="v1", ref="main")
    guarded.sdk.tags_api.create_tag(guarded.id, creation)
    run = runs(guarded)[0]
    assert (run.event_type, run.status, run.branch) == ("pre-create-tag", "completed", "")
