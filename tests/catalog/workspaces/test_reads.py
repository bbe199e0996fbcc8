"""The recorder of reads: bounded, each read once, also with several servers."""

from __future__ import annotations

import threading

import pytest

from anabranch.errors import Busy, Gone, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.references.workspace import MAX_READS, WorkspaceRead
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.testing.lake import lake_in


@pytest.fixture
def sea(lake):
    lake.objects.upload("sea", "main", "in/a", [b"a"])
    lake.commits.commit("sea", "main", message="data", committer="ann")
    lake.workspaces.create(
        "sea", WorkspaceRequest(source="main", branch="ws-1", writable=["out/**"])
    )
    return lake


def stored(lake):
    return lake.workspaces.reads.of_workspace("sea", "ws-1")


def test_a_read_is_kept_once_for_each_commit(sea):
    first = sea.branches.get("sea", "ws-1").commit_id
    recorder = sea.workspaces.reads
    for _ in range(2):
        recorder.note("sea", "ws-1", "ws-1", ["in/a", "in/b"])
        recorder.note("sea", "ws-1", first, ["in/a"])
        recorder.flush()
    sea.objects.upload("sea", "ws-1", "out/a", [b"1"])
    second = sea.workspaces.checkpoint("sea", "ws-1", "one", committer="ann").commit_id
    recorder.note("sea", "ws-1", "ws-1$", ["in/a"])
    assert stored(sea).reads == (
        WorkspaceRead("in/a", first),
        WorkspaceRead("in/b", first),
        WorkspaceRead("in/a", second),
    )


def test_more_reads_than_are_kept_are_counted(sea):
    recorder = sea.workspaces.reads
    recorder.note("sea", "ws-1", "ws-1", (f"in/{number}" for number in range(MAX_READS)))
    recorder.flush()
    recorder.note("sea", "ws-1", "ws-1", ["in/0", "in/x", "in/y"])
    found = stored(sea)
    assert (len(found.reads), found.left_out) == (MAX_READS, 2)


def test_two_servers_keep_both_reads(sea, clock, tmp_path):
    with lake_in(tmp_path, clock, sea.keyvalue) as other:
        sea.workspaces.reads.note("sea", "ws-1", "ws-1", ["in/a"])
        other.workspaces.reads.note("sea", "ws-1", "ws-1", ["in/b"])
        with_reads = other.core.workspaces.with_reads

        def after_the_other(*args):
            result = with_reads(*args)
            sea.workspaces.reads.flush()
            return result

        other.core.branches.workspaces.with_reads = after_the_other
        other.workspaces.reads.flush()
    assert sorted(each.path for each in stored(sea).reads) == ["in/a", "in/b"]


class Waiting(MemoryStore):
    """A store that lets another thread go on before its next write."""

    other: threading.Thread | None = None

    def apply(self, writes, expect=()):
        other, self.other = self.other, None
        if other is not None:
            other.start()
            other.join(0.2)  # ends then only if it does not wait for this write
        return super().apply(writes, expect)


def test_a_proposal_keeps_reads_that_are_just_being_stored(tmp_path, clock):
    store = Waiting()
    with lake_in(tmp_path, clock, store) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.workspaces.create(
            "sea", WorkspaceRequest(source="main", branch="ws-1", writable=["out/**"])
        )
        lake.objects.upload("sea", "ws-1", "out/a", [b"a"])
        lake.workspaces.reads.note("sea", "ws-1", "ws-1", ["in/a"])
        pulls = []

        def propose():
            pulls.append(lake.workspaces.propose("sea", "ws-1", author="ann", committer="ann"))

        other = store.other = threading.Thread(target=propose)
        lake.workspaces.reads.flush()
        other.join()
        kept = lake.workspaces.reads.of_pull("sea", pulls[0].id)
        assert [each.path for each in kept.reads] == ["in/a"]


def test_a_later_workspace_of_the_name_has_not_read_what_the_earlier_one_has(sea):
    recorder = sea.workspaces.reads
    recorder.note("sea", "ws-1", "ws-1", ["in/a"])
    recorder.flush()
    recorder.note("sea", "ws-1", "ws-1", ["in/late"])
    sea.workspaces.discard("sea", "ws-1")
    recorder.flush()
    with pytest.raises(NotFound):
        stored(sea)
    sea.workspaces.create("sea", WorkspaceRequest(source="main", branch="ws-1"))
    assert stored(sea).reads == ()


def test_nor_what_the_earlier_one_has_read_just_now(sea):
    """As when a job is run again under its name: what waits to be stored is of the first run."""
    request = WorkspaceRequest(source="main", branch="nightly")
    sea.workspaces.create("sea", request, access_key_id="AKIAW1", key_check="c")
    sea.workspaces.reads.note("sea", "nightly", "nightly", ["in/first"], "AKIAW1")
    sea.workspaces.discard("sea", "nightly")
    sea.workspaces.create("sea", request, access_key_id="AKIAW2", key_check="c")
    sea.workspaces.reads.note("sea", "nightly", "nightly", ["in/second"], "AKIAW2")
    found = sea.workspaces.reads.of_workspace("sea", "nightly")
    assert [each.path for each in found.reads] == ["in/second"]


def test_the_end_of_a_lake_stores_what_waits(sea, clock, tmp_path):
    with lake_in(tmp_path, clock, sea.keyvalue) as other:
        other.workspaces.reads.note("sea", "ws-1", "ws-1", ["in/a"])
    assert [each.path for each in stored(sea).reads] == ["in/a"]


def test_a_commit_whose_id_begins_like_the_branch_is_itself(sea):
    commit = sea.branches.get("sea", "main").commit_id
    request = WorkspaceRequest(source="main", branch=commit[:4], writable=["out/**"])
    sea.workspaces.create("sea", request)
    sea.objects.upload("sea", commit[:4], "out/a", [b"1"])
    sea.workspaces.checkpoint("sea", commit[:4], "one", committer="ann")
    sea.workspaces.reads.note("sea", commit[:4], commit, ["in/a"])
    found = sea.workspaces.reads.of_workspace("sea", commit[:4])
    assert found.reads == (WorkspaceRead("in/a", commit),)


@pytest.mark.parametrize("error", [Busy("unreachable"), Gone("repository in deletion")])
def test_a_workspace_whose_reads_cannot_be_stored_does_not_lose_those_of_others(
    sea, monkeypatch, error
):
    recorder = sea.workspaces.reads
    sea.workspaces.create("sea", WorkspaceRequest(source="main", branch="ws-0"))
    recorder.note("sea", "ws-0", "ws-0", ["in/b"])
    recorder.note("sea", "ws-1", "ws-1", ["in/a"])
    with_reads = sea.core.workspaces.with_reads

    def fails(repository, branch, *args):
        if branch == "ws-0":
            raise error
        return with_reads(repository, branch, *args)

    with monkeypatch.context() as patched:
        patched.setattr(sea.core.branches.workspaces, "with_reads", fails)
        if isinstance(error, Busy):
            with pytest.raises(Busy):
                recorder.flush()
        else:
            recorder.flush()
        assert [
            each.path
            for each in sea.core.workspaces.reads(sea.core.repositories.get("sea"), "ws-1").reads
        ] == ["in/a"]
    recorder.flush()
    kept = [each.path for each in recorder.of_workspace("sea", "ws-0").reads]
    assert kept == (["in/b"] if isinstance(error, Busy) else [])
