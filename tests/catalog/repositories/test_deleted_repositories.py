"""A deleted repository comes back as it was, for as long as it is kept, and shares nothing with
another one.
"""

from __future__ import annotations

import threading

import pytest
from support.garbage import DAY

from anabranch.errors import AlreadyExists, AnabranchError, Busy, Conflict, Invalid, NotFound
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.caller import Caller, acting_as
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.model.repositories.retention import RetentionRules
from anabranch.versioning.records import keys
from anabranch.versioning.repositories.deleted import DELETED_REPOSITORIES


def fill(lake):
    """Makes a little of everything in `sea`."""
    lake.objects.upload("sea", "main", "a", [b"committed"])
    lake.commits.commit("sea", "main", message="First", committer="ada")
    lake.branches.create("sea", "dev", "main", expires_at=int(lake.core.clock()) + 60 * DAY)
    lake.objects.upload("sea", "dev", "b", [b"staged"])
    lake.tags.create("sea", "v1", "main")
    lake.branches.create("sea", "lost", "main")
    lake.objects.upload("sea", "lost", "c", [b"staged, then deleted"])
    lake.branches.delete("sea", "lost")
    lake.pulls.create("sea", title="P", source="dev", destination="main", author="ada")
    lake.protection.replace("sea", ["release*"])
    lake.repositories.set_metadata("sea", {"owner": "ada"})
    lake.garbage_rules.set("sea", RetentionRules(7))
    lake.operations.set_undo_days("sea", 5)


def rows(lake, but=(DELETED_REPOSITORIES, "anabranch-namespaces", "usage")):
    """Returns the rows of the key-value store, except for those of some partitions."""
    store = lake.keyvalue
    partitions = {name for name in store._partitions if not name.startswith(but)}
    partitions -= {"anabranch-operations::installation", "anabranch-usage"}
    return {name: found for name in partitions if (found := list(store.scan(name)))}


def read(lake, reference, path):
    return b"".join(lake.objects.open("sea", reference, path).chunks())


def test_what_is_restored_is_what_was_deleted(lake):
    fill(lake)
    before = rows(lake)
    with acting_as(Caller("jane")):
        lake.repositories.delete("sea")
    with pytest.raises(NotFound):
        lake.repositories.get("sea")
    (deleted,) = lake.repositories.deleted()
    assert (deleted.repository.id, deleted.user, deleted.days) == ("sea", "jane", 5)
    lake.repositories.restore("sea")
    assert rows(lake) == before
    assert lake.repositories.deleted() == []
    assert read(lake, "dev", "b") == b"staged"
    lake.operations.restore_branch("sea", "lost")
    assert read(lake, "lost", "c") == b"staged, then deleted"
    assert lake.garbage_rules.get("sea").default_days == 7


def test_branches_of_a_restored_repository_still_end(lake, clock):
    fill(lake)
    lake.repositories.delete("sea")
    lake.repositories.forget_old()
    clock.advance(2 * DAY)
    assert lake.expiry.delete_due() == 0
    lake.repositories.restore("sea")
    clock.advance(60 * DAY)
    for pull in lake.pulls.list("sea", amount=9).items:
        lake.pulls.update("sea", pull.id, status="closed")
    assert lake.expiry.delete_due() == 1
    with pytest.raises(NotFound):
        lake.branches.get("sea", "dev")


def test_the_name_is_free_and_the_repository_waits(lake):
    lake.objects.upload("sea", "main", "a", [b"old"])
    first = lake.repositories.get("sea")
    lake.repositories.delete("sea")
    with pytest.raises(Invalid, match="already in use"):
        lake.repositories.create("sea", first.storage_namespace)
    second = lake.repositories.create("sea", "local://other")
    lake.objects.upload("sea", "main", "a", [b"new"])
    with pytest.raises(AlreadyExists, match="another repository"):
        lake.repositories.restore("sea")
    assert read(lake, "main", "a") == b"new"
    lake.repositories.delete("sea")
    deleted = [each.repository for each in lake.repositories.deleted()]
    assert sorted(deleted, key=lambda each: each.storage_namespace) == [second, first]
    lake.repositories.restore("sea", instance_uid=first.instance_uid)
    assert read(lake, "main", "a") == b"old"
    lake.repositories.delete("sea")
    lake.repositories.restore("sea", instance_uid=second.instance_uid)
    assert read(lake, "main", "a") == b"new"


@pytest.mark.parametrize("below", ["", "/below"])
def test_two_repositories_do_not_share_a_namespace(lake, below):
    namespace = lake.repositories.get("sea").storage_namespace
    lake.repositories.delete("sea")
    lake.repositories.create("other", namespace + below, bare=True)
    with pytest.raises(Conflict, match="other") as caught:
        lake.repositories.restore("sea")
    assert caught.value.kind == "storage_namespace_in_use"
    lake.repositories.delete("other")
    lake.repositories.restore("sea")


def test_it_is_forgotten_after_its_days(lake, clock):
    fill(lake)
    repository = lake.repositories.get("sea")
    lake.repositories.delete("sea")
    clock.advance(5 * DAY - 1)
    assert lake.repositories.forget_old() == 0
    clock.advance(2)
    assert lake.repositories.forget_old() == 1
    with pytest.raises(NotFound):
        lake.repositories.restore("sea")
    clock.advance(DAY)
    lake.core.cleaner.clean()  # areas of commits are there for a moment longer
    found = rows(lake, but=(keys.CLEANUP, "multiparts", "anabranch-namespaces", "anabranch-exp"))
    assert not [name for name in found if repository.instance_uid in name or "sea-" in name]
    assert list(lake.keyvalue.scan(DELETED_REPOSITORIES)) == []


def test_what_must_be_erased_is_forgotten_at_once(lake):
    fill(lake)
    repository = lake.repositories.get("sea")
    lake.repositories.delete("sea")
    lake.repositories.forget("sea")
    assert lake.repositories.deleted() == []
    assert list(lake.keyvalue.scan(repository.partition)) == []
    with pytest.raises(NotFound):
        lake.repositories.forget("sea")


def test_a_deletion_that_keeps_nothing_is_made_with_other_writes(lake):
    """As undo of a creation marks its operation, where no operation is kept."""
    mark = Write("marks", b"mark", b"undone")
    delete = lake.core.repositories.delete
    with pytest.raises(Busy):
        delete("sea", forget=True, writes=[mark], expect=[Expect("marks", b"mark", b"other")])
    assert lake.repositories.get("sea")
    delete("sea", forget=True, writes=[mark], expect=[Expect("marks", b"mark", None)])
    assert lake.keyvalue.get("marks", b"mark") == b"undone"
    with pytest.raises(NotFound):
        lake.repositories.get("sea")


def test_a_forgetting_that_was_interrupted_is_completed(lake):
    fill(lake)
    repository = lake.repositories.get("sea")
    lake.repositories.delete("sea")
    stored = lake.core.repositories.deleted.read("sea")
    lake.core.repositories.deleted.mark_forgotten(stored)
    with pytest.raises(NotFound):
        lake.repositories.restore("sea")
    assert lake.repositories.forget_old() == 1
    assert list(lake.keyvalue.scan(repository.partition)) == []


def test_with_no_days_for_undo_nothing_is_kept(lake):
    lake.operations.set_undo_days("sea", 0)
    repository = lake.repositories.get("sea")
    lake.repositories.delete("sea")
    assert lake.repositories.deleted() == []
    assert list(lake.keyvalue.scan(repository.partition)) == []


def test_of_two_restores_or_forgettings_at_once_one_succeeds(lake):
    for round_number in range(20):
        lake.objects.upload("sea", "main", "a", [b"%d" % round_number])
        lake.repositories.delete("sea")
        done, start = [], threading.Barrier(4)

        def try_it(what, done=done, start=start):
            start.wait()
            try:
                getattr(lake.repositories, what)("sea")
                done.append(what)
            except AnabranchError:
                pass

        threads = [
            threading.Thread(target=try_it, args=(what,))
            for what in ("restore", "restore", "forget", "forget")
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert done.count("restore") <= 1
        if "restore" in done:
            assert read(lake, "main", "a") == b"%d" % round_number
        else:
            assert list(lake.keyvalue.scan(DELETED_REPOSITORIES)) == []
            lake.repositories.create("sea", f"local://sea-{round_number}")


def test_keys_of_its_workspaces_are_refused_also_in_another_repository_of_the_name(lake):
    request = WorkspaceRequest(source="main", purpose="try", branch="ws", writable=["**"])
    lake.workspaces.create("sea", request, access_key_id="AKIAW", key_check="c")
    find = lake.core.workspaces.find_by_key
    assert find("AKIAW").repository == "sea"
    lake.repositories.delete("sea")
    assert find("AKIAW") is None
    lake.repositories.create("sea", "local://other")
    lake.branches.create("sea", "ws", "main")
    assert find("AKIAW") is None
    lake.repositories.delete("sea")
    lake.repositories.restore("sea", instance_uid=_of(lake, "local://sea"))
    assert find("AKIAW").workspace.branch == "ws"


def _of(lake, namespace):
    """Returns the id of the deleted repository that had a storage namespace."""
    (found,) = [
        each.repository.instance_uid
        for each in lake.repositories.deleted()
        if each.repository.written_namespace == namespace
        or each.repository.storage_namespace.rstrip("/").endswith(namespace[8:])
    ]
    return found
