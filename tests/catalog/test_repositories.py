"""Repositories: one initial commit, a namespace of their own, deletion to the end."""

from __future__ import annotations

import pytest

from anabranch._kernel import commit_id
from anabranch.errors import AlreadyExists, Invalid, NotFound, ReadOnlyRepository


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
def test_names_that_cannot_be(lake, name):
    with pytest.raises(Invalid):
        lake.repositories.create(name, "local://fresh")
    assert [found.id for found in lake.repositories.list(amount=10).items] == ["sea"]


@pytest.mark.parametrize(
    "namespace", ["", "sea", "s3://bucket", "local:/x", "local://../x", "local://"]
)
def test_namespaces_that_cannot_be(lake, namespace):
    with pytest.raises(Invalid):
        lake.repositories.create("fresh", namespace)
    with pytest.raises(NotFound):
        lake.repositories.get("fresh")


def test_a_namespace_belongs_to_one_repository(lake):
    with pytest.raises(Invalid, match="storage namespace already in use"):
        lake.repositories.create("other", "local://sea")
    with pytest.raises(Invalid, match="storage namespace already in use"):
        lake.repositories.create("other", "local://sea/")


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
