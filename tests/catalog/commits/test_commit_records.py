"""Records of commits that clients write: they agree with their ids, parents and trees."""

from __future__ import annotations

import msgspec
import pytest

from anabranch import _kernel as kernel
from anabranch.errors import AlreadyExists, Conflict, Denied, Invalid, NotFound, ReadOnlyRepository
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.entry import AddressType
from anabranch.versioning.trees.tree_writers import WriteRecords


def record(lake, *, parents=(), generation=None, **fields):
    made = lake.core.commits.make(
        **{"committer": "me", "message": "m", "metarange_id": "", "metadata": {}, **fields},
        parents=parents,
    )
    if generation is not None:
        made = msgspec.structs.replace(made, generation=generation)
    return msgspec.structs.replace(made, nanos=0)


@pytest.fixture
def head(lake):
    lake.objects.upload("sea", "main", "a", [b"1"])
    return lake.commits.commit("sea", "main", message="a", committer="me")


def test_a_record_is_a_commit(lake, head):
    made = record(
        lake, parents=[head], metarange_id=head.metarange_id, metadata={"ü": "\U0001f30a"}
    )
    lake.commits.create_record("sea", made)
    assert lake.commits.get("sea", made.id) == made
    lake.branches.create("sea", "b", made.id)
    assert lake.objects.open("sea", "b", "a").read_bytes() == b"1"
    with pytest.raises(AlreadyExists, match="commit already exists: not unique"):
        lake.commits.create_record("sea", made)


def test_bare_repositories_take_records(lake):
    lake.repositories.create("bare", "local://bare", bare=True)
    first = record(lake)
    lake.commits.create_record("bare", first)
    lake.commits.create_record("bare", record(lake, parents=[first]))
    lake.branches.create("bare", "main", first.id)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "ab"),
        ("committer", "you"),
        ("message", "n"),
        ("message", "\udce9"),
        ("creation_date", 1),
        ("metadata", {"a": "b"}),
        ("parents", ()),
        ("metarange_id", ""),
    ],
)
def test_a_record_that_differs_from_its_id_is_refused(lake, head, field, value):
    made = record(lake, parents=[head], metarange_id=head.metarange_id)
    changed = msgspec.structs.replace(made, **{field: value})
    with pytest.raises(Invalid, match="commit id: invalid value: validation error"):
        lake.commits.create_record("sea", changed)
    with pytest.raises(NotFound):
        lake.commits.get("sea", made.id)


@pytest.mark.parametrize("generation", [-1, 0, 1, 2, 2**31])
def test_the_generation_is_above_that_of_the_parents(lake, head, generation):
    assert head.generation == 2
    with pytest.raises(Invalid, match=f"the generation {generation}"):
        lake.commits.create_record("sea", record(lake, parents=[head], generation=generation))


def test_parents_and_trees_must_be_there(lake, head):
    with pytest.raises(NotFound, match="commit not found"):
        lake.commits.create_record("sea", record(lake, parents=[record(lake)]))
    absent = record(lake, metarange_id="0" * 64)
    with pytest.raises(NotFound) as caught:
        lake.commits.create_record("sea", absent)
    assert caught.value.kind == "metarange_not_found"
    with pytest.raises(Invalid):
        lake.commits.create_record("sea", record(lake, metarange_id="../" + head.metarange_id))


def test_addresses_are_those_that_staging_admits(lake):
    entry = kernel.encode_entry("local:///etc/passwd", AddressType.FULL, 0, 0, 1, "c", {}, "")
    tree = lake.core.trees.write(
        lake.core.repositories.get("sea"), WriteRecords([(b"stolen", entry)])
    )
    with pytest.raises(Denied) as caught:
        lake.commits.create_record("sea", record(lake, metarange_id=tree.metarange_id))
    assert caught.value.kind == "address_forbidden"


def test_commit_record_during_a_sweep_adds_no_objects(lake, head):
    made: Commit = record(lake, parents=[head], metarange_id=head.metarange_id)
    lake.core.sweeps.begin("sweep")
    with pytest.raises(Conflict) as caught:
        lake.commits.create_record("sea", made)
    assert caught.value.kind == "sweep_under_way"
    lake.core.sweeps.end("sweep")
    lake.commits.create_record("sea", made)


def test_a_read_only_repository_needs_force(lake):
    lake.repositories.create("read", "local://read", read_only=True)
    with pytest.raises(ReadOnlyRepository):
        lake.commits.create_record("read", record(lake))
    lake.commits.create_record("read", record(lake), force=True)
