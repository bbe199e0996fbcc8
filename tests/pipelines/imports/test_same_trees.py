"""An import writes the tree that staging and committing the same objects writes, for any order of
the store's listing.
"""

from __future__ import annotations

import itertools
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.progress import CountingProgress
from support.session.hypothesis_profiles import examples

from anabranch import _kernel as kernel
from anabranch.blocks.external_objects import ExternalObject
from anabranch.library import Lake
from anabranch.model.imports import ImportSource
from anabranch.model.objects.entry import AddressType, Entry
from anabranch.pipelines.imports.build_tree import build_tree
from anabranch.pipelines.imports.merge_sorted_runs import decode_records
from anabranch.pipelines.imports.replace_prefixes import replacement_changes
from anabranch.pipelines.jobs.progress import NO_PROGRESS
from anabranch.testing.lake import Clock, lake_in

names = st.text(st.sampled_from("ab/é\U0001f30a"), min_size=1, max_size=6)
listings = st.lists(st.dictionaries(names, st.integers(0, 9), min_size=1), min_size=1, max_size=3)
destinations = st.sampled_from(["", "a", "a/", "a/b", "c"])


class Listed:
    """ExternalObjects with given listings, in the given order."""

    def __init__(self, listings):
        self.listings = {f"s3://bucket/{n}/": listing for n, listing in enumerate(listings)}

    def list(self, prefix):
        for name, size in self.listings[prefix]:
            yield ExternalObject(name.encode(), prefix + name, size, 1_500_000_000, f"etag-{size}")


def stage_and_commit(lake: Lake, entries: dict[str, Entry], removed: list[str]) -> str:
    """Stages changes on another branch, commits them, and returns the commit's tree."""
    repository = lake.core.repositories.get("sea")
    if lake.core.branches.find(repository, "staged") is not None:
        lake.branches.delete("sea", "staged")
    lake.branches.create("sea", "staged", "main")
    lake.core.changes.delete(repository, "staged", removed)
    for path, entry in entries.items():
        lake.core.changes.put(repository, "staged", path, entry)
    return lake.commits.commit(
        "sea", "staged", message="staged", committer="tester", allow_empty=True
    ).metarange_id


def expected_entries(sources, listings):
    """Returns the entries of an import, by path."""
    entries = {}
    for source, listing in zip(sources, listings, strict=True):
        start = source.destination
        start += "/" if start and not start.endswith("/") else ""
        for name, size in listing.items():
            entries[start + name] = Entry(
                address=source.path + name,
                address_type=int(AddressType.FULL),
                size=size,
                mtime=1,
                mtime_nanos=500_000_000,
                checksum=f"etag-{size}",
                content_type="",
            )
    return entries


@settings(max_examples=examples(60))
@given(
    listings=listings,
    places=st.lists(destinations, min_size=3, max_size=3),
    before=st.dictionaries(names, st.just(0), max_size=8),
    shuffled=st.booleans(),
    run_records=st.integers(1, 4),
)
def test_import_writes_the_tree_of_staging(listings, places, before, shuffled, run_records):
    sources = [
        ImportSource(type="common_prefix", path=f"s3://bucket/{n}/", destination=place)
        for n, place in enumerate(places[: len(listings)])
    ]
    expected = expected_entries(sources, listings)
    prefixes = [f"{place}/" if place and place[-1] != "/" else place for place in places]
    prefixes = prefixes[: len(listings)]
    with tempfile.TemporaryDirectory() as folder, lake_in(folder, Clock()) as lake:
        lake.repositories.create("sea", "local://sea")
        repository = lake.core.repositories.get("sea")
        old = {path: Entry(address="x", size=1, mtime=1, checksum="old") for path in before}
        for path, entry in old.items():
            lake.core.changes.put(repository, "main", path, entry)
        lake.commits.commit("sea", "main", message="old", committer="tester", allow_empty=True)
        head = lake.core.trees.open(repository, lake.commits.get("sea", "main").metarange_id)
        order = [
            list(listing.items()) if shuffled else sorted(listing.items(), key=_by_bytes)
            for listing in listings
        ]
        trees = lake.core.trees
        with trees.scratch() as scratch:
            built = build_tree(
                sources, Listed(order), trees, scratch, NO_PROGRESS, run_records=run_records
            )
            imported = trees.open_in(scratch, built.metarange_id)
            assert len(imported) == built.count == len(expected)
            changes = replacement_changes(head, imported, [prefix.encode() for prefix in prefixes])
            written = head.apply(changes, trees.write_folder(repository))
        removed = [path for path in old if any(map(path.startswith, prefixes))]
        assert written.metarange_id == stage_and_commit(lake, expected, removed)
        paths = {path for path in old if path not in removed} | expected.keys()
        tree = lake.core.trees.open(repository, written.metarange_id)
        assert [key.decode() for key, _ in decode_records(tree)] == sorted(paths, key=str.encode)


def _by_bytes(item):
    return item[0].encode()


@pytest.mark.slow
def test_import_of_many_ranges_has_lakefs_range_boundaries(tmp_path):
    """Compares with the boundaries of lakeFS 1.84 for an import of these keys."""
    keys = [f"p{n:03d}/f{m:05d}" for n, m in itertools.product(range(150), range(1_000))]
    ends = ["p009/f00102", "p052/f00278", "p102/f00258", "p103/f00635"]
    ends += ["p114/f00323", "p132/f00107", "p135/f00519", "p149/f00999"]
    with lake_in(tmp_path, Clock()) as lake, lake.core.trees.scratch() as scratch:
        source = ImportSource(type="common_prefix", path="s3://bucket/0/", destination="")
        backwards = Listed([[(key, 1) for key in reversed(keys)]])
        built = build_tree(
            [source], backwards, lake.core.trees, scratch, progress := CountingProgress()
        )
        tree = lake.core.trees.open_in(scratch, built.metarange_id)
        assert [table.max_key.decode() for table in tree.ranges()] == ends
        assert progress.done == len(tree) == len(keys)
        in_order = Listed([[(key, 1) for key in keys]])
        assert built.metarange_id == (
            build_tree([source], in_order, lake.core.trees, scratch, NO_PROGRESS).metarange_id
        )
        assert isinstance(tree, kernel.Tree)
