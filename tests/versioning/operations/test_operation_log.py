"""The operation log: each change of references is recorded by the write that makes it."""

from __future__ import annotations

import pytest

from anabranch.errors import NotFound
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.caller import Caller, acting_as
from anabranch.model.references.operation import BranchChanged, TagChanged
from anabranch.model.references.tag import Tag
from anabranch.testing.lake import Clock
from anabranch.versioning.operations.log import OperationLog
from anabranch.versioning.operations.logged_records import INSTALLATION
from anabranch.versioning.operations.logging_store import LoggingStore


def operations(versions):
    return list(versions.core.operation_log.all(versions.repository))


def last(versions):
    return operations(versions)[0]


def test_the_first_operation_creates_the_first_branch(versions):
    (created,) = operations(versions)
    (change,) = created.changes
    assert (change.before, change.after.id) == (None, "main")
    assert created.time == versions.clock()


def test_a_commit_is_recorded_with_the_commits_before_and_after(versions):
    before = versions.head("main")
    versions.put("main", a="one")
    caller = Caller("ada", action="commit", request_id="r-1")
    with acting_as(caller):
        after = versions.commit("main")
    operation = last(versions)
    (change,) = operation.changes
    assert isinstance(change, BranchChanged)
    assert (change.before.commit_id, change.after.commit_id) == (before.id, after.id)
    assert (operation.user, operation.action, operation.request_id) == ("ada", "commit", "r-1")
    assert len(operations(versions)) == 2


def test_staged_changes_and_seals_are_not_recorded(versions):
    versions.put("main", a="one")
    versions.core.committer.seal(versions.repository, "main")
    versions.put("main", a="two")
    assert len(operations(versions)) == 1


def test_tags_are_recorded(versions):
    head = versions.head("main")
    versions.core.tags.create(versions.repository, "v1", head.id)
    versions.core.tags.delete(versions.repository, "v1")
    deleted, created, _ = operations(versions)
    assert created.changes == (TagChanged(None, Tag(id="v1", commit_id=head.id)),)
    assert deleted.changes == (TagChanged(Tag(id="v1", commit_id=head.id), None),)


def test_ids_sort_the_newest_first_if_the_clock_goes_back(versions):
    for number in range(5):
        versions.core.branches.create(versions.repository, f"b{number}", versions.head("main").id)
        versions.clock.now -= 3600
    names = [operation.changes[0].name for operation in operations(versions)]
    assert names == ["b4", "b3", "b2", "b1", "b0", "main"]


def test_in_the_installation_ids_sort_the_newest_first_whatever_clocks_say(versions):
    """Undo finds there whether a user, a group or a policy is another one of its name."""
    store = MemoryStore()
    servers = [LoggingStore(store, Clock(now)) for now in (7200, 3600, 0)]
    log = OperationLog(store, versions.clock)
    names = [f"u{number}" for number in range(6)]
    for number, name in enumerate(names):
        key = b"users/" + name.encode()
        assert servers[number % 3].apply([Write("auth", key, b"secret")])
    made = [each.settings[0].name for each in log.all(INSTALLATION)]
    assert made == names[::-1]


def test_an_operation_is_found_by_the_beginning_of_its_id(versions):
    (created,) = operations(versions)
    log = versions.core.operation_log
    assert log.get(versions.repository, created.id[:15]) == created
    for other in ("x", created.id + "0", "0" * 19, "%", "a/b", "é", "٢"):
        with pytest.raises(NotFound):
            log.get(versions.repository, other)
