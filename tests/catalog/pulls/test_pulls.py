"""Pull requests: their life, their limits, and how they are stored."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from support.services.recorded_lakefs import recorded_rows

from anabranch.errors import (
    DirtyBranch,
    Gone,
    Invalid,
    MergeConflict,
    NoChanges,
    NotFound,
    ReadOnlyRepository,
)
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.pull_request import PullRequestStatus
from anabranch.records import lakefs_pb2 as records
from anabranch.testing.lake import lake_in
from anabranch.versioning.records.pulls import branch_index_bytes, pull_bytes

OPEN, CLOSED, MERGED = PullRequestStatus
FIRST_SECOND = 32_500_915_200
"""The time from which lakeFS counts the ids of pull requests down."""


@pytest.fixture
def lake(lake):
    """A repository with a branch `work` that is one commit ahead of `main`."""
    lake.branches.create("sea", "work", "main")
    commit(lake, "work", a="1")
    return lake


def commit(lake, branch, **contents):
    for path, content in contents.items():
        lake.objects.upload("sea", branch, path, [content.encode()])
    return lake.commits.commit("sea", branch, message="m", committer="ada").id


def pull(lake, source="work", destination="main", **fields):
    fields = {"title": "t", "author": "ada", **fields}
    return lake.pulls.create("sea", source=source, destination=destination, **fields)


def merge(lake, made, **options):
    return lake.pulls.merge("sea", made.id, committer="bob", **options)


def test_life_of_a_pull_request(lake, clock):
    made = pull(lake, description="d")
    assert lake.pulls.get("sea", made.id) == made
    assert (made.status, made.author.name, made.description) == (OPEN, "ada", "d")
    clock.advance(5)
    merged_id = merge(lake, made, message="Take it", metadata={"k": "v"})
    merged = lake.pulls.get("sea", made.id)
    assert (merged.status, merged.merged_commit_id) == (MERGED, merged_id)
    assert (merged.closed_date - merged.creation_date).total_seconds() == 5
    done = lake.commits.get("sea", "main")
    assert (done.id, done.committer, done.message) == (merged_id, "bob", "Take it")
    assert done.metadata["k"] == "v"
    assert done.parents[1] == merged.source_commit_id == lake.branches.get("sea", "work").commit_id


def test_the_default_message_names_the_branches(lake):
    merge(lake, pull(lake))
    assert lake.commits.get("sea", "main").message == "Merge 'work' into 'main'"


def test_only_an_open_pull_request_is_merged_and_only_once(lake):
    made = pull(lake)
    lake.pulls.update("sea", made.id, status=CLOSED)
    for _ in range(2):
        with pytest.raises(Invalid, match=r"^bad pull request status$") as error:
            merge(lake, made)
        assert error.value.kind == "pull_request_closed"
    lake.pulls.update("sea", made.id, status=OPEN)
    assert lake.pulls.get("sea", made.id).closed_date is None
    merge(lake, made)
    head = lake.branches.get("sea", "main").commit_id
    commit(lake, "work", b="2")
    with pytest.raises(Invalid, match=r"^bad pull request status$") as error:
        merge(lake, made)
    assert error.value.kind == "pull_request_merged"
    assert lake.branches.get("sea", "main").commit_id == head


def test_updates_change_what_they_name_alone(lake, clock):
    made = pull(lake, description="d")
    lake.pulls.update("sea", made.id, title="new")
    assert lake.pulls.get("sea", made.id).description == "d"
    lake.pulls.update("sea", made.id, description="")
    clock.advance(1)
    closed = lake.pulls.update("sea", made.id, status=CLOSED)
    assert (closed.title, closed.description) == ("new", "")
    clock.advance(1)
    assert lake.pulls.update("sea", made.id, status=CLOSED).closed_date == closed.closed_date
    for status in (MERGED, "merged", "ajar"):
        with pytest.raises(Invalid, match=r"^bad pull request status$"):
            lake.pulls.update("sea", made.id, status=status)
    lake.pulls.update("sea", made.id, status=OPEN)
    merge(lake, made)
    for status in (OPEN, CLOSED):
        with pytest.raises(Invalid, match=r"^bad pull request status$"):
            lake.pulls.update("sea", made.id, status=status, title="other")
    renamed = lake.pulls.update("sea", made.id, title="afterwards", status=MERGED)
    assert (renamed.title, renamed.status) == ("afterwards", MERGED)


@pytest.mark.parametrize(
    ("source", "destination", "error", "message"),
    [
        ("none", "main", NotFound, "branch not found"),
        ("work", "none", NotFound, "branch not found"),
        ("main", "main", Invalid, "same branch"),
        ("main~1", "main", Invalid, "argument branch"),
        ("", "main", Invalid, "argument branch"),
        ("work", "a/b", Invalid, "argument branch"),
    ],
)
def test_pull_request_needs_two_branches(lake, source, destination, error, message):
    with pytest.raises(error, match=message):
        pull(lake, source, destination)
    assert lake.pulls.list("sea", amount=10).items == []


@pytest.mark.parametrize(
    "fields", [{"title": "x" * 1001}, {"description": "x" * 65_537}, {"title": "\ud800"}]
)
def test_invalid_texts_are_rejected(lake, fields):
    with pytest.raises(Invalid, match="validation error"):
        pull(lake, **fields)
    made = pull(lake, title="x" * 1000, description="é" * 65_536)
    with pytest.raises(Invalid, match="validation error"):
        lake.pulls.update("sea", made.id, **fields)
    assert lake.pulls.get("sea", made.id) == made


def test_failed_merge_leaves_the_pull_request_open(lake):
    made, other = pull(lake), pull(lake, "main", "work")
    with pytest.raises(NoChanges):
        merge(lake, other)
    lake.objects.upload("sea", "main", "a", [b"2"])
    with pytest.raises(DirtyBranch):
        merge(lake, made)
    head = commit(lake, "main", a="2")
    with pytest.raises(MergeConflict) as error:
        merge(lake, made)
    assert error.value.paths == ("a",)
    assert lake.branches.get("sea", "main").commit_id == head
    assert lake.pulls.list("sea", amount=10).items == [other, made]
    merge(lake, made, strategy="source-wins", squash=True)
    assert len(lake.commits.get("sea", "main").parents) == 1


@pytest.mark.parametrize("gone", ["work", "target"])
def test_merge_without_one_of_its_branches_is_refused(lake, gone):
    lake.branches.create("sea", "target", "main")
    made = pull(lake, "work", "target")
    lake.branches.delete("sea", gone)
    with pytest.raises(NotFound, match=r"^branch not found$") as error:
        merge(lake, made)
    assert gone in error.value.hint
    assert lake.pulls.get("sea", made.id) == made
    lake.branches.create("sea", gone, "main")
    lake.pulls.update("sea", made.id, status=CLOSED)


def test_pull_requests_belong_to_their_repository(lake):
    made = pull(lake)
    lake.repositories.create("lake", "local://lake")
    for name in ("get", "merge", "update"):
        options = {"committer": "c"} if name == "merge" else {}
        for repository, pull_id in (("lake", made.id), ("sea", "ceh8bs1ksduasdr2aobg")):
            with pytest.raises(NotFound, match=r"^pull request not found$"):
                getattr(lake.pulls, name)(repository, pull_id, **options)
        for pull_id in ("none", made.id.upper(), f"{made.id}/x"):
            with pytest.raises(Invalid, match="argument pullRequestID"):
                getattr(lake.pulls, name)("sea", pull_id, **options)
    assert lake.pulls.list("lake", amount=10).items == []


def test_pages_are_newest_first_and_complete(lake, clock):
    made = []
    for number in range(23):
        clock.advance(number % 2)
        made.append(pull(lake, title=str(number)).id)
        if number % 3 == 1:
            lake.pulls.update("sea", made[-1], status=CLOSED)
    merge_id = made[6]
    lake.pulls.merge("sea", merge_id, committer="c")
    for statuses in ({OPEN}, {CLOSED}, {CLOSED, MERGED}, set(PullRequestStatus), set()):
        expected = [
            pull_id
            for pull_id in reversed(made)
            if lake.pulls.get("sea", pull_id).status in statuses
        ]
        for amount in (1, 2, 5, 23, 24):
            found, after = [], ""
            while True:
                page = lake.pulls.list("sea", statuses=statuses, after=after, amount=amount)
                found += [item.id for item in page.items]
                assert page.has_more == bool(page.next_offset)
                if not page.has_more:
                    break
                assert len(page.items) == amount
                after = page.next_offset
            assert found == expected
    only = lake.pulls.list("sea", prefix=merge_id, amount=10)
    assert [item.id for item in only.items] == [merge_id]


def test_read_only_repository_takes_no_pull_request(lake):
    lake.repositories.create("ice", "local://ice", read_only=True)
    with pytest.raises(ReadOnlyRepository):
        lake.pulls.create("ice", title="t", author="ada", source="main", destination="main")


def test_deleted_repository_takes_its_pull_requests_along(lake):
    made = pull(lake)
    lake.reviews.comment("sea", made.id, "hm", author="bob")
    partition = lake.repositories.get("sea").partition
    lake.repositories.delete("sea", forget=True)
    with pytest.raises(NotFound, match="repository not found"):
        lake.pulls.get("sea", made.id)
    assert list(lake.keyvalue.scan(partition)) == []
    assert list(lake.keyvalue.scan("pulls")) == []
    lake.repositories.create("sea", "local://sea-2")
    with pytest.raises(NotFound, match="pull request not found"):
        lake.pulls.get("sea", made.id)


def test_repository_in_deletion_is_gone(lake):
    made = pull(lake)
    row = lake.keyvalue.get("graveler", b"repos/sea")
    stored = records.RepositoryData.FromString(row)
    stored.state = records.RepositoryData.IN_DELETION
    lake.keyvalue.apply([Write("graveler", b"repos/sea", stored.SerializeToString())])
    with pytest.raises(Gone):
        lake.pulls.get("sea", made.id)


def lakefs_message():
    """Returns lakeFS's message of a pull request, with no field of ours."""
    file = descriptor_pb2.FileDescriptorProto(name="pull.proto", package="p", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    message = file.message_type.add(name="PullRequestData")
    kinds = {2: 5, 3: 11, 10: 11}
    names = "id status created_at title author description source destination commit_id closed_at"
    for number, name in enumerate(names.split(), 1):
        kind = kinds.get(number, 9)
        field = message.field.add(name=name, number=number, type=kind, label=1)
        if kind == 11:
            field.type_name = ".google.protobuf.Timestamp"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.PullRequestData"))


def test_records_are_those_of_lakefs(lake, clock):
    lakefs = lakefs_message()
    clock.now = 1_700_000_000.25
    made = pull(lake, title="ü", description="d")
    partition = lake.repositories.get("sea").partition
    key = f"pulls/{made.id}".encode()
    stored = lakefs.FromString(lake.keyvalue.get(partition, key))
    assert (stored.id, stored.status, stored.title) == (made.id, 0, "ü")
    assert (stored.created_at.seconds, stored.created_at.nanos) == (1_700_000_000, 250_000_000)
    assert (stored.author, stored.description) == ("ada", "d")
    assert (stored.source, stored.destination) == ("work", "main")
    assert not stored.HasField("closed_at")
    index = lake.keyvalue.get(
        "pulls", f"repos/{partition}/{made.source}/{made.destination}".encode()
    )
    assert records.SecondaryIndex.FromString(index).primary_key == made.id.encode()
    merged = merge(lake, made)
    stored = lakefs.FromString(lake.keyvalue.get(partition, key))
    assert (stored.status, stored.commit_id, stored.HasField("closed_at")) == (2, merged, True)
    assert len(list(lake.keyvalue.scan(partition, b"pulls/", b"pulls0"))) == 1


def test_records_of_lakefs_are_read(lake):
    message = lakefs_message()(id="x1", status=0, title="t", author="ada")
    message.source, message.destination = "work", "main"
    message.created_at.FromNanoseconds(1_700_000_000_123_456_789)
    partition = lake.repositories.get("sea").partition
    lake.keyvalue.apply([Write(partition, b"pulls/x1", message.SerializeToString())])
    found = lake.pulls.get("sea", "x1")
    assert (found.author.name, found.status) == ("ada", OPEN)
    assert found.creation_date.isoformat() == "2023-11-14T22:13:20.123456+00:00"
    # lakeFS knows the author by the name alone
    assert not lake.reviews.create("sea", "x1", "approved", author="ada").counted
    assert lake.reviews.create("sea", "x1", "approved", author="bob").counted
    lake.pulls.merge("sea", "x1", committer="c")


def test_ids_count_down_as_those_of_lakefs(lake, clock):
    made = pull(lake)
    # an xid's time is its first 32 bits, in base32hex
    seconds = int(made.id[:7], 32) >> 3
    assert (FIRST_SECOND - int(clock.now)) % (1 << 32) == seconds


def test_pull_requests_that_lakefs_wrote(tmp_path, clock):
    store = MemoryStore()
    store.apply([Write(*row) for row in recorded_rows()])
    with lake_in(tmp_path, clock, store) as lake:
        found = {item.title: item for item in lake.pulls.list("sea", amount=10).items}
        taken, dropped = found["Take the release"], found["Never mind"]
        assert (taken.source, taken.destination, taken.status) == ("release-1", "main", OPEN)
        assert (taken.author.name, taken.description) == ("captain", "Reviewed on board")
        assert (dropped.source, dropped.status) == ("dev", CLOSED)
        assert dropped.closed_date > dropped.creation_date
        # written by our own code, records and index have lakeFS's bytes and ids of lakeFS's kind
        partition = lake.repositories.get("sea").partition
        for item in found.values():
            key = f"pulls/{item.id}".encode()
            stored = records.PullRequestData.FromString(store.get(partition, key))
            assert pull_bytes(item) == with_microseconds(stored).SerializeToString()
            seconds = int(item.creation_date.timestamp())
            assert (FIRST_SECOND - seconds) % (1 << 32) == int(item.id[:7], 32) >> 3
            index = f"repos/{partition}/{item.source}/{item.destination}".encode()
            assert store.get("pulls", index) == branch_index_bytes(item.id)


def with_microseconds(stored):
    """Returns a record with times as exact as ours."""
    for name in ("created_at", "closed_at"):
        if stored.HasField(name):
            moment = getattr(stored, name)
            moment.nanos -= moment.nanos % 1000
    return stored
