"""What a reference was at a moment, compared with a record that the test keeps."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from anabranch.errors import Invalid, NotFound

DAY = 86_400
NAMES = ("main", "dev", "dev2", "v1", "v1.1")


def commit_at(versions, text):
    return versions.core.references.commit(versions.repository, text).id


def iso(seconds):
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def change_something(versions, chosen, number):
    """Creates, moves or deletes a branch or a tag."""
    core, repository = versions.core, versions.repository
    name, head = chosen.choice(NAMES), versions.head("main").id
    if name.startswith("v"):
        if core.tags.find(repository, name):
            core.tags.delete(repository, name)
        else:
            core.tags.create(repository, name, head)
    elif core.branches.find(repository, name) is None:
        core.branches.create(repository, name, head)
    elif name != "main" and chosen.random() < 0.3:
        core.branches.delete(repository, name)
    else:
        versions.commit(name, a=f"word{number}")


def state_of(versions):
    """Returns the commits of all references by name."""
    core, repository = versions.core, versions.repository
    references = (*core.branches.all(repository), *core.tags.all(repository))
    return {each.id: each.commit_id for each in references}


def test_each_moment_of_a_random_history_is_read_back(versions, seed):
    """Branches and tags are created, moved, deleted and created again; at the end, and after what
    is old was forgotten, each is at each moment what it was then.
    """
    chosen = random.Random(seed)
    log, repository = versions.core.operation_log, versions.repository
    history = [(versions.clock(), "", {})]
    for number in range(120):
        versions.clock.advance(chosen.choice([1, 60, 3600, DAY]))
        change_something(versions, chosen, number)
        newest = next(log.all(repository)).id
        history.append((versions.clock(), newest, state_of(versions)))
    cutoff = versions.clock() - 30 * DAY
    assert versions.core.operation_retention.compact(repository) == sum(
        moment <= cutoff for moment, _, _ in history
    )
    kept = [each for each in history if each[0] > cutoff and each[1]]
    assert len(kept) > 20
    for moment, operation, state in kept:
        for name in NAMES:
            for text in (f"{name}@{{{iso(moment)}}}", f"{name}@{{op:{operation}}}"):
                assert commit_or_none(versions, text) == state.get(name)


def commit_or_none(versions, text):
    try:
        return commit_at(versions, text)
    except NotFound:
        return None


def test_steps_back_begin_at_the_moment(versions):
    first = versions.commit("main", a="one")
    second = versions.commit("main", a="two")
    versions.clock.advance(3600)
    versions.commit("main", a="three")
    assert commit_at(versions, "main@{30 minutes ago}") == second.id
    assert commit_at(versions, "main@{30 minutes ago}~1") == first.id
    assert commit_at(versions, "main@{30.minutes.ago}^") == first.id
    assert versions.contents("main@{30 minutes ago}") == {"a": "two"}


def test_moments_before_the_log_are_refused(versions):
    versions.commit("main", a="one")
    with pytest.raises(Invalid) as caught:
        commit_at(versions, "main@{2 days ago}")
    assert caught.value.kind == "moment_not_logged"
    assert "2023-11-14T22:13:20" in caught.value.hint


def test_a_repository_that_is_older_than_the_log_says_when_that_begins(versions):
    """As after an upgrade: the first change afterwards begins the log."""
    core, repository = versions.core, versions.repository
    core.operation_log.drop(repository)
    core.keyvalue._last.clear()
    first = versions.head("main")
    with pytest.raises(Invalid, match="does not reach back"):
        commit_at(versions, "main@{now}")
    versions.clock.advance(3600)
    core.branches.create(repository, "dev", first.id)
    versions.clock.advance(60)
    assert commit_at(versions, "main@{now}") == first.id
    assert commit_at(versions, "main@{1 minute ago}") == first.id
    with pytest.raises(Invalid, match="does not reach back"):
        commit_at(versions, "main@{2 minutes ago}")


def test_a_deleted_repository_leaves_no_log(versions):
    versions.commit("main", a="one")
    versions.core.repositories.delete("sea", forget=True)
    assert list(versions.core.operation_log.all(versions.repository)) == []


def test_a_moment_names_no_staging_area(versions):
    versions.commit("main", a="one")
    versions.put("main", a="staged")
    assert versions.contents("main@{now}") == {"a": "one"}
