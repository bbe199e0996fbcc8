"""Branches that end: refused at the moment, deleted by the next run of the task."""

from __future__ import annotations

import pytest

from anabranch.catalog.references.expiry import RETRY_SECONDS
from anabranch.errors import Busy, Conflict, Denied, Invalid, NotFound
from anabranch.testing.lake import lake_in

DAY = 86_400


@pytest.fixture
def sea(lake):
    put(lake, "main", "a", b"a")
    lake.commits.commit("sea", "main", message="data", committer="ann")
    return lake


def put(lake, branch, path, content):
    lake.objects.upload("sea", branch, path, [content])


def names(lake):
    return [each.id for each in lake.branches.list("sea", amount=100).items]


def expiring(lake, clock, name="short", seconds=DAY):
    return lake.branches.create("sea", name, "main", expires_at=int(clock()) + seconds)


def test_a_branch_is_deleted_once_its_time_is_over_and_not_before(sea, clock):
    expiring(sea, clock)
    sea.branches.create("sea", "long", "main")
    clock.advance(DAY - 1)
    assert sea.expiry.delete_due() == 0
    clock.advance(1)
    assert sea.expiry.delete_due() == 1
    assert names(sea) == ["long", "main"]
    assert sea.expiry.delete_due() == 0


def test_its_deletion_is_recorded_in_the_operation_log(sea, clock):
    expiring(sea, clock)
    clock.advance(DAY)
    sea.expiry.delete_due()
    last = sea.operations.list("sea", amount=1).items[0]
    assert (last.action, last.changes[0].name, last.changes[0].after) == (
        "expireBranch",
        "short",
        None,
    )


def test_its_time_can_be_changed_and_taken_away(sea, clock):
    expiring(sea, clock)
    sea.branches.set_expiry("sea", "short", int(clock()) + 2 * DAY)
    clock.advance(DAY)
    assert sea.expiry.delete_due() == 0
    put(sea, "short", "b", b"b")
    sea.branches.set_expiry("sea", "short", 0)
    clock.advance(9 * DAY)
    assert sea.expiry.delete_due() == 0
    assert "short" in names(sea)


def test_an_expired_branch_that_gets_more_time_before_its_deletion_stays(sea, clock):
    expiring(sea, clock)
    clock.advance(DAY)
    with pytest.raises(Conflict, match="has expired"):
        put(sea, "short", "b", b"b")
    sea.branches.set_expiry("sea", "short", int(clock()) + DAY)
    assert sea.expiry.delete_due() == 0
    put(sea, "short", "b", b"b")


def test_more_time_between_check_and_deletion_keeps_the_branch(sea, clock, monkeypatch):
    expiring(sea, clock)
    clock.advance(DAY)
    delete = sea.branches.delete

    def extended_first(*args, **kwargs):
        sea.branches.set_expiry("sea", "short", int(clock()) + DAY)
        delete(*args, **kwargs)

    monkeypatch.setattr(sea.branches, "delete", extended_first)
    assert sea.expiry.delete_due() == 0
    assert "short" in names(sea)


def test_what_hooks_have_not_seen_keeps_the_branch(sea, clock, monkeypatch):
    """More time, another commit and another end, all of it while hooks run."""
    expiring(sea, clock)
    clock.advance(DAY)
    delete = sea.branches.delete

    def used_first(*args, **kwargs):
        sea.branches.set_expiry("sea", "short", int(clock()) + DAY)
        put(sea, "short", "b", b"b")
        sea.commits.commit("sea", "short", message="b", committer="ann")
        clock.advance(DAY)
        delete(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(sea.branches, "delete", used_first)
        assert sea.expiry.delete_due() == 0
    assert "short" in names(sea)
    assert sea.expiry.delete_due() == 1


def test_a_pull_request_that_is_opened_while_hooks_run_keeps_its_source(sea, clock, monkeypatch):
    expiring(sea, clock)
    clock.advance(DAY)
    delete = sea.branches.delete

    def proposed_first(*args, **kwargs):
        sea.pulls.create("sea", title="b", source="short", destination="main", author="ann")
        delete(*args, **kwargs)

    monkeypatch.setattr(sea.branches, "delete", proposed_first)
    assert sea.expiry.delete_due() == 0
    assert "short" in names(sea)


def test_the_source_of_an_open_pull_request_stays_until_that_is_closed(sea, clock):
    expiring(sea, clock)
    put(sea, "short", "b", b"b")
    sea.commits.commit("sea", "short", message="b", committer="ann")
    pull = sea.pulls.create("sea", title="b", source="short", destination="main", author="ann")
    clock.advance(DAY)
    assert sea.expiry.delete_due() == 0
    with pytest.raises(Conflict, match="has expired"):
        put(sea, "short", "c", b"c")
    merged = sea.pulls.merge("sea", pull.id, committer="bob")
    assert sea.objects.open("sea", merged, "b").read_bytes() == b"b"
    assert sea.expiry.delete_due() == 0  # it is tried again later
    clock.advance(RETRY_SECONDS)
    assert sea.expiry.delete_due() == 1


def test_a_protected_branch_stays(sea, clock):
    expiring(sea, clock)
    sea.protection.replace("sea", ["short"], approvals={"short": 1})
    clock.advance(DAY)
    assert sea.expiry.delete_due() == 0
    assert "short" in names(sea)


def test_an_upload_in_flight_is_refused_at_its_end(sea, clock):
    expiring(sea, clock)

    def pieces():
        yield b"first"
        clock.advance(DAY)
        yield b"last"

    with pytest.raises(Conflict, match="has expired"):
        sea.objects.upload("sea", "short", "b", pieces())
    with pytest.raises(NotFound):
        sea.objects.stat("sea", "short", "b")


def test_a_later_branch_of_the_name_is_not_deleted_for_the_earlier_one(sea, clock):
    expiring(sea, clock)
    sea.branches.delete("sea", "short")
    sea.branches.create("sea", "short", "main")
    clock.advance(9 * DAY)
    assert sea.expiry.delete_due() == 0
    assert "short" in names(sea)


def test_a_later_repository_of_the_name_is_not_touched(sea, clock):
    expiring(sea, clock)
    sea.repositories.delete("sea")
    sea.repositories.create("sea", "local://sea-2")
    sea.branches.create("sea", "short", "main")
    clock.advance(DAY)
    assert sea.expiry.delete_due() == 0
    assert names(sea) == ["main", "short"]


def test_a_time_in_the_past_and_an_end_of_the_default_branch_are_refused(sea, clock):
    with pytest.raises(Invalid, match="past"):
        expiring(sea, clock, seconds=0)
    sea.branches.create("sea", "short", "main")
    with pytest.raises(Invalid, match="past"):
        sea.branches.set_expiry("sea", "short", int(clock()) - 1)
    with pytest.raises(Denied):
        sea.branches.set_expiry("sea", "main", int(clock()) + DAY)


def test_a_change_that_takes_longer_than_the_branch_lives_is_not_made(sea, clock):
    expiring(sea, clock)
    core = sea.core
    repository = core.repositories.get("sea")
    stored = core.branches.read(repository, "short")
    moved = core.branches.write(repository, core.branches.empty(repository, stored.branch))
    clock.advance(DAY)
    with pytest.raises(Conflict, match="has expired"):
        core.branches.apply(repository, stored, [moved])
    assert core.branches.read(repository, "short") == stored


def test_two_servers_delete_a_branch_once(sea, clock, tmp_path):
    expiring(sea, clock)
    clock.advance(DAY)
    with lake_in(tmp_path, clock, sea.keyvalue) as other:
        read = other.core.branches.read

        def deleted_meanwhile(*args):
            stored = read(*args)
            sea.expiry.delete_due()
            return stored

        other.core.branches.read = deleted_meanwhile
        assert other.expiry.delete_due() == 0
    assert names(sea) == ["main"]
    deletions = [each for each in sea.operations.list("sea", amount=99).items if each.action]
    assert len(deletions) == 1


def test_a_stopped_server_leaves_nothing_half_deleted(sea, clock):
    expiring(sea, clock)
    put(sea, "short", "b", b"b")
    clock.advance(DAY)
    store = sea.core.keyvalue
    for stops_at in range(20):
        calls = iter(range(stops_at))
        apply = store._store.apply

        def killed(*args, calls=calls, apply=apply):
            if next(calls, None) is None:
                raise KeyboardInterrupt
            return apply(*args)

        store._store.apply = killed
        try:
            sea.expiry.delete_due()
            finished = True
        except KeyboardInterrupt:
            finished = False
        finally:
            store._store.apply = apply
        exists = "short" in names(sea)
        logged = any(
            each.action == "expireBranch" for each in sea.operations.list("sea", amount=9).items
        )
        assert exists is not logged
        if finished:
            break
    assert not exists
    assert sea.expiry.delete_due() == 0


HOOK = b"""
name: keep
on:
  pre-delete-branch:
    branches: ["short"]
hooks:
  - id: keep
    type: lua
    properties:
      script: error("kept")
"""


def test_a_hook_before_its_deletion_keeps_a_branch_and_it_is_tried_again(sea, clock):
    put(sea, "main", "_lakefs_actions/keep.yaml", HOOK)
    sea.commits.commit("sea", "main", message="hook", committer="ann")
    expiring(sea, clock)
    clock.advance(DAY)
    assert sea.expiry.delete_due() == 0
    assert sea.expiry.wait()
    assert "short" in names(sea)
    assert sea.expiry.delete_due() == 0
    assert sea.expiry.wait()
    runs = sea.actions.runs("sea", amount=9).items
    assert [each.passed for each in runs] == [False]
    clock.advance(RETRY_SECONDS)
    assert sea.expiry.delete_due() == 0
    assert sea.expiry.wait()
    assert len(sea.actions.runs("sea", amount=9).items) == 2


@pytest.mark.parametrize("part", ["repositories", "branches"])
def test_a_store_that_fails_for_a_moment_does_not_keep_a_branch(sea, clock, monkeypatch, part):
    expiring(sea, clock)
    clock.advance(DAY)

    def unreachable(*_):
        raise Busy("the database cannot be reached")

    place, name = getattr(sea.core, part), "get" if part == "repositories" else "read"
    with monkeypatch.context() as patched:
        patched.setattr(place, name, unreachable)
        assert sea.expiry.delete_due() == 0
    clock.advance(RETRY_SECONDS)
    assert sea.expiry.delete_due() == 1


def test_a_clock_that_goes_back_does_not_keep_a_branch_for_good(sea, clock, monkeypatch):
    expiring(sea, clock)
    clock.advance(DAY)
    read = sea.core.repositories.get

    def set_back(name):
        clock.advance(-10)
        return read(name)

    with monkeypatch.context() as patched:
        patched.setattr(sea.core.repositories, "get", set_back)
        assert sea.expiry.delete_due() == 0
    clock.advance(10)
    assert sea.expiry.delete_due() == 1


def test_a_repository_that_is_restored_while_its_branch_is_looked_for(sea, clock, monkeypatch):
    """The index must not forget the branch then: nothing else says that it has ended."""
    expiring(sea, clock)
    sea.repositories.delete("sea")
    clock.advance(DAY)
    read = sea.core.repositories.get

    def restored_meanwhile(name):
        monkeypatch.undo()
        try:
            return read(name)
        finally:
            sea.repositories.restore("sea")

    monkeypatch.setattr(sea.core.repositories, "get", restored_meanwhile)
    assert sea.expiry.delete_due() == 0
    assert sea.expiry.delete_due() == 1
    assert names(sea) == ["main"]
