"""Fixtures of the tests of trees."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from support.recorded.recorded_trees import RECORDINGS, RecordedTrees, load_trees
from support.session.hypothesis_profiles import examples

from anabranch import _kernel
from anabranch.testing.tree_model import applied

patient = settings(deadline=None, max_examples=examples(50))
"""Files are written and synced, so an example may take as long as the disk does."""


EMPTY = "00fb7eff1a97c500eb3ca8d2ef5464131d6b6a5f9512e41eba97843522213b66"
"""The id of a tree that is written and has no entries; its file is in `tests/data`."""


class Lake:
    """Trees in a folder of tables."""

    def __init__(self, folder: Path, capacity: int = 64) -> None:
        self.folder = folder
        self.tables = _kernel.Tables(capacity)

    def locate(self, table_id: str) -> str:
        return str(self.folder / table_id)

    def open(self, metarange_id: str) -> _kernel.Tree:
        return self.tables.tree(metarange_id, self.locate)

    def write(self, records: dict[bytes, _kernel.Value]) -> _kernel.Tree:
        written = _kernel.write_tree(sorted(records.items()), str(self.folder))
        return self.open(written.metarange_id)

    def apply(self, tree: _kernel.Tree, changes) -> _kernel.Tree:
        return self.open(tree.apply(changes, str(self.folder)).metarange_id)

    def commit(self, records, *history):
        """Returns the tree of records with changes made one after the other, so that its cuts
        tell its history, and what it holds."""
        tree = self.write(records)
        for changes in history:
            tree = self.apply(tree, changes)
            records = applied(records, changes)
        return tree, records

    def names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


def encoded(changes) -> list[tuple[bytes, bytes]]:
    """Returns changes as a key-value store holds them."""
    return [(key, _kernel.encode_staged(key, new)) for key, new in changes]


def read(tree: _kernel.Tree) -> dict[bytes, _kernel.Value]:
    """Returns all records of a tree."""
    listing = tree.listing(amount=len(tree))
    listing.feed([], last=True)
    return dict(listing.rows())


@pytest.fixture(scope="session")
def lake(tmp_path_factory) -> Lake:
    """Tables are named by what they hold, so all tests may write into one folder."""
    return Lake(tmp_path_factory.mktemp("lake"))


@pytest.fixture
def own_lake(tmp_path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture(scope="session", params=RECORDINGS)
def recorded(request) -> RecordedTrees:
    """Trees that a real lakeFS wrote."""
    return load_trees(request.param)
