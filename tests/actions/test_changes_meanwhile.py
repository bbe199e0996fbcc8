"""Changes of branches while the hooks of others run."""

from __future__ import annotations

import contextlib
import threading

import pytest

from anabranch.errors import NoChanges, NotFound, PreconditionFailed

from .test_changes import commit, no_proposals, paths, put


def test_branch_that_moves_while_hooks_run_is_examined_again(lake, webhook, add_action):
    add_action("pre-merge")
    lake.branches.create("sea", "dev", "main")
    put(lake, "dev", "b.txt")
    commit(lake, "dev")
    meanwhile = []

    def decide(_):
        if not meanwhile:
            put(lake, "main", "c.txt")
            meanwhile.append(commit(lake).id)
        return True

    webhook.decide = decide
    made = lake.commits.get("sea", lake.refs.merge("sea", "dev", "main", committer="ann"))
    assert made.parents[0] == meanwhile[0]
    assert {"b.txt", "c.txt"} <= set(paths(lake, made.id))
    assert len(webhook.of("pre-merge")) == 2
    assert no_proposals(lake)


def test_commits_of_many_at_once_lose_no_change(lake, webhook, add_action):
    add_action("pre-commit")
    examined = []

    def decide(event):
        examined.append({*paths(lake, event["merged_ref"])})
        return True

    webhook.decide = decide
    made = []

    def work(number):
        for step in range(6):
            put(lake, "main", f"{number}/{step}.txt")
            with contextlib.suppress(NoChanges):  # another commit may have taken the change
                made.append(commit(lake))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {f"{number}/{step}.txt" for number in range(4) for step in range(6)}
    assert expected <= {*paths(lake, "main@")}
    assert lake.branches.changes("sea", "main", amount=9).items == []
    # every commit is one that a hook has seen, as it is
    assert all({*paths(lake, each.id)} in examined for each in made)
    history = lake.commits.log("sea", "main", amount=100).items
    assert {each.id for each in made} <= {each.id for each in history}
    assert no_proposals(lake)


def test_branch_that_is_deleted_while_hooks_run_stays_deleted(lake, webhook, add_action):
    add_action("pre-commit", branches="[dev]")
    lake.branches.create("sea", "dev", "main")
    put(lake, "dev", "a.txt")

    def decide(_):
        lake.branches.delete("sea", "dev")
        return True

    webhook.decide = decide
    with pytest.raises(NotFound, match="branch not found"):
        commit(lake, "dev")
    assert no_proposals(lake)


def test_what_hooks_examine_can_be_read_through_another_server(
    lake, open_lake, webhook, add_action
):
    add_action("pre-commit")
    other = open_lake(start=False)
    put(lake, "main", "a.txt")
    seen = []

    def decide(event):
        seen.extend(paths(other, event["merged_ref"]))
        seen.append(other.commits.get("sea", event["merged_ref"]).message)
        return False

    webhook.decide = decide
    with pytest.raises(PreconditionFailed):
        commit(lake)
    assert {"a.txt", "a commit"} <= {*seen}
    # it is in no cache of the other server either
    with pytest.raises(NotFound):
        paths(other, webhook.events[-1]["merged_ref"])
