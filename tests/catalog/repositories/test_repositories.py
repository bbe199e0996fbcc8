"""Repositories: initial commit, storage namespace, complete deletion."""

from __future__ import annotations

import pytest

from anabranch._kernel import commit_id
from anabranch.errors import AlreadyExists, Invalid, NotFound, ReadOnlyRepository
from anabranch.keyvalue.contract import Write
from anabranch.versioning.records import keys, references
from anabranch.versioning.staging.cleanup import Cleaner


def test_a_new_repository_has_exactly_one_initial_commit(lake, clock):
    log = lake.commits.log("sea", "main", amount=10)
    assert len(log.items) == 1
    root = log.items[0]
    assert (root.message, root.committer, root.metarange_id, root.parents) == (
        "Repository created",
        "",
        "",
        (),
    )
    assert root.generation == 1
    assert root.id == commit_id("", "Repository created", "", int(clock.now), {}, [])


def test_a_bare_repository_has_no_branch(lake):
    lake.repositories.create("bare", "local://bare", bare=True)
    assert lake.branches.list("bare", amount=10).items == []


def test_a_name_can_be_taken_once(lake):
    with pytest.raises(AlreadyExists, match="error creating repository: not unique"):
        lake.repositories.create("sea", "local://other")
    lake.repositories.create("other", "local://other")


@pytest.mark.parametrize("name", ["", "ab", "-ab", "Sea", "a_b", "a" * 64, "sea\n", "séa"])
def test_invalid_names_are_rejected(lake, name):
    with pytest.raises(Invalid):
        lake.repositories.create(name, "local://fresh")
    assert [found.id for found in lake.repositories.list(amount=10).items] == ["sea"]


@pytest.mark.parametrize(
    "namespace", ["", "sea", "s3://bucket", "local:/x", "local://../x", "local://"]
)
def test_invalid_namespaces_are_rejected(lake, namespace):
    with pytest.raises(Invalid):
        lake.repositories.create("fresh", namespace)
    with pytest.raises(NotFound):
        lake.repositories.get("fresh")


def test_a_namespace_belongs_to_one_repository(lake):
    with pytest.raises(Invalid, match="storage namespace already in use"):
        lake.repositories.create("other", "local://sea")
    with pytest.raises(Invalid, match="storage namespace already in use"):
        lake.repositories.create("other", "local://sea/")


SPELLINGS = ["local://x/y", "local:///x//y", "local:////x/y", "local://x/./y//", "local://./x/y/"]


@pytest.mark.parametrize("written", SPELLINGS)
def test_a_namespace_with_empty_segments_is_kept_as_written(lake, written):
    made = lake.repositories.create("spelled", written)
    found = lake.repositories.get("spelled")
    assert made.shown_namespace == found.shown_namespace == written
    lake.objects.upload("spelled", "main", "a", [b"1"])
    stat = lake.objects.stat("spelled", "main", "a")
    root = lake.blocks.qualify("local://x/y/data/")
    assert stat.physical_address.startswith(root)
    lake.commits.commit("spelled", "main", message="One", committer="ada")
    assert lake.objects.open("spelled", "main", "a").read_bytes() == b"1"


@pytest.mark.parametrize("other", SPELLINGS)
def test_all_spellings_of_a_namespace_name_one_place(lake, other):
    lake.repositories.create("spelled", "local://x//y")
    with pytest.raises(Invalid, match="storage namespace already in use") as caught:
        lake.repositories.create("other", other)
    assert f"(:{other})" in caught.value.message


def test_namespace_that_begins_with_the_root_is_inside_it(lake):
    root = lake.blocks.qualify("local://")
    made = lake.repositories.create("spelled", f"{root}/deep//er")
    assert made.storage_namespace == "local://deep/er"


def test_policies_are_checked_for_all_spellings(lake):
    assert lake.repositories.equivalent_namespaces("local://x/y/") == ["local://x/y/"]
    assert lake.repositories.equivalent_namespaces("local:///x/./y") == [
        "local:///x/./y",
        "local://x/y",
    ]
    assert lake.repositories.equivalent_namespaces("s3://x//y") == ["s3://x//y"]


@pytest.mark.parametrize("written", ["local://a/../b", "local:///..", "local:///", "local://.//"])
def test_a_namespace_above_a_folder_is_refused_with_the_reason(lake, written):
    with pytest.raises(Invalid, match=r"a segment is empty.*invalid namespace"):
        lake.repositories.create("fresh", written)


def test_deletion_takes_references_and_staging_with_it(lake):
    lake.objects.upload("sea", "main", "a", [b"1"])
    lake.repositories.delete("sea")
    with pytest.raises(NotFound, match="repository not found"):
        lake.repositories.get("sea")
    with pytest.raises(NotFound):
        lake.repositories.delete("sea")
    assert lake.keyvalue.get("graveler", b"repos/sea") is None
    lake.repositories.create("sea", "local://sea2")
    assert len(lake.objects.listing("sea", "main", amount=10)) == 0


def test_what_is_staged_while_the_repository_is_deleted_is_removed_later(lake, clock):
    lake.objects.upload("sea", "main", "before", [b"1"])
    repository = lake.core.repositories.get("sea")
    raw = lake.keyvalue.get(repository.partition, keys.branch("main"))
    token = references.branch_from(raw).staging_token
    (row,) = lake.keyvalue.scan(token)
    lake.repositories.delete("sea", forget=True)
    lake.keyvalue.apply([Write(token, *row)])  # by a request that has read the branch before
    assert list(lake.keyvalue.scan(token))
    cleaner = Cleaner(lake.keyvalue, clock, grace_seconds=0)
    cleaner.clean()
    assert not list(lake.keyvalue.scan(token))
    assert not list(lake.keyvalue.scan(keys.CLEANUP))


def test_a_read_only_repository_refuses_changes_without_force(lake):
    lake.repositories.create("fixed", "local://fixed", read_only=True)
    with pytest.raises(ReadOnlyRepository):
        lake.objects.upload("fixed", "main", "a", [b"1"])
    with pytest.raises(ReadOnlyRepository):
        lake.branches.create("fixed", "b", "main")
    with pytest.raises(ReadOnlyRepository):
        lake.repositories.delete("fixed")
    lake.objects.upload("fixed", "main", "a", [b"1"], force=True)
    lake.repositories.delete("fixed", force=True)


def test_listing_by_prefix_search_and_page(lake):
    for name in ("sea-1", "sea-2", "lake"):
        lake.repositories.create(name, f"local://{name}")
    names = lambda **by: [found.id for found in lake.repositories.list(**by).items]  # noqa: E731
    assert names(amount=10) == ["lake", "sea", "sea-1", "sea-2"]
    assert names(amount=10, prefix="sea-") == ["sea-1", "sea-2"]
    assert names(amount=10, search="ak") == ["lake"]
    assert names(amount=10, prefix="sea", after="sea") == ["sea-1", "sea-2"]
    page = lake.repositories.list(amount=2)
    assert (page.has_more, page.next_offset) == (True, "sea")
    assert names(amount=2, after=page.next_offset) == ["sea-1", "sea-2"]


def test_metadata_is_merged_and_removed_by_key(lake):
    assert lake.repositories.metadata("sea") == {}
    lake.repositories.set_metadata("sea", {"a": "1", "b": "2"})
    lake.repositories.set_metadata("sea", {"b": "3", "ü": "✓"})
    lake.repositories.delete_metadata("sea", ["a", "unknown"])
    assert lake.repositories.metadata("sea") == {"b": "3", "ü": "✓"}


def test_sample_data_is_committed(lake):
    lake.repositories.create("sample", "local://sample", sample_data=True, committer="ada")
    assert lake.commits.get("sample", "main").message == "Add sample data"
    body = lake.objects.open("sample", "main", "README.md").read_bytes()
    assert b"lakefs://sample/main" in body
    assert lake.branches.changes("sample", "main", amount=10).items == []
