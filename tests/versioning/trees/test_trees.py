"""Trees over stores in memory: what is written is read again, by this process and by others."""

from __future__ import annotations

from hashlib import md5
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch._kernel import EMPTY_TREE_ID, Tree
from anabranch.errors import Corrupt, Gone
from anabranch.model.names import encode_path
from anabranch.model.objects.entry import Entry
from anabranch.versioning.records.entries import entry_value

WORDS = {f"{number:04}": f"word {number}" for number in range(2_000)}


def value(word):
    """Returns the stored value of an object whose content is a word, None for a deletion."""
    if word is None:
        return None
    checksum = md5(word.encode()).hexdigest()
    entry = Entry(address=f"data/{word}", size=len(word), mtime=1_700_000_000, checksum=checksum)
    return entry_value(entry)


def rows(changes):
    return sorted((encode_path(path), value(word)) for path, word in changes.items())


class Apply(NamedTuple):
    """Writes a tree with changes applied, and then raises an error, if one is given."""

    tree: Tree
    changes: dict[str, str | None]
    error: Exception | None = None

    def write(self, folder, *, unsynced=False):  # noqa: ARG002
        written = self.tree.apply(rows(self.changes), folder)
        if self.error is not None:
            raise self.error
        return written


def write(versions, changes, base=EMPTY_TREE_ID):
    """Writes a tree with changes applied to a base into the store; returns its id."""
    trees = versions.core.trees
    tree = trees.open(versions.repository, base)
    written = trees.write(versions.repository, Apply(tree, changes))
    return written.metarange_id


def listed(tree):
    """Returns the keys and values of a tree."""
    page = tree.listing(amount=len(tree) + 1)
    page.feed([], last=True)
    return page.rows()


def contents(versions, metarange_id):
    return listed(versions.core.trees.open(versions.repository, metarange_id))


def stored(versions):
    """Returns the addresses of the tables in the store."""
    return {info.address for info in versions.blocks.list("mem://sea/_lakefs/")}


paths = st.text("ab/\N{SNOWMAN}", min_size=1, max_size=4)
changes = st.dictionaries(paths, st.none() | st.text("xyz", max_size=3), max_size=20)


@settings(max_examples=examples(50))
@given(st.lists(changes, max_size=5))
def test_tree_holds_what_a_dictionary_holds(new_versions, steps):
    versions, model, tree = new_versions(), {}, EMPTY_TREE_ID
    for step in steps:
        tree = write(versions, step, tree)
        model.update(step)
        model = {path: word for path, word in model.items() if word is not None}
        assert contents(versions, tree) == rows(model)
        assert len(versions.core.trees.open(versions.repository, tree)) == len(model)


def test_empty_tree_needs_no_table(versions):
    assert contents(versions, EMPTY_TREE_ID) == []
    assert stored(versions) == set()


def test_open_tree_is_returned_again(versions):
    tree = write(versions, {"a": "1"})
    first = versions.core.trees.open(versions.repository, tree)
    assert versions.core.trees.open(versions.repository, tree) is first


def test_tree_is_read_from_the_store_by_another_process(versions, other):
    tree = write(versions, WORDS)
    assert contents(other, tree) == rows(WORDS)


def test_change_writes_few_tables(versions):
    base = write(versions, WORDS)
    before = stored(versions)
    write(versions, {"0000": "changed"}, base)
    assert len(stored(versions) - before) == 2, "one range and the metarange"


def test_write_without_effect_writes_nothing(versions):
    base = write(versions, WORDS)
    before = stored(versions)
    assert write(versions, {"0000": WORDS["0000"], "none": None}, base) == base
    assert stored(versions) == before


def test_write_that_raises_stores_nothing(versions):
    tree = versions.core.trees.open(versions.repository, EMPTY_TREE_ID)
    failing = Apply(tree, WORDS, RuntimeError("after the tables were written"))
    with pytest.raises(RuntimeError, match="after the tables"):
        versions.core.trees.write(versions.repository, failing)
    assert stored(versions) == set()


def test_damaged_table_of_the_cache_is_fetched_again(versions, other):
    tree = write(versions, WORDS)
    for address in stored(versions):
        path = Path(other.core.trees.locate(other.repository, address.rpartition("/")[2]))
        body = bytearray(path.read_bytes())
        body[len(body) // 2] ^= 1
        path.unlink()
        path.write_bytes(body)
    found = other.core.trees.read(lambda: contents(other, tree))
    assert found == rows(WORDS)


def test_damaged_table_of_the_store_raises_corrupt(versions, other):
    tree = write(versions, WORDS)
    for address in stored(versions):
        versions.blocks.put(address, [versions.blocks.read(address)[:-20] + b"x" * 20])
    with pytest.raises(Corrupt, match="damaged"):
        contents(other, tree)


def test_missing_table_raises_gone(versions, other):
    tree = write(versions, WORDS)
    versions.blocks.delete(sorted(stored(versions)))
    with pytest.raises(Gone) as gone:
        contents(other, tree)
    assert gone.value.kind == "metadata_missing"


def test_overlaid_tree_has_the_changes_and_stores_nothing(versions):
    base = versions.commit("main", a="1", b="2").metarange_id
    before = stored(versions)
    versions.put("main", c="3")
    versions.remove("main", "a")
    tokens = versions.core.branches.read(versions.repository, "main").branch.tokens
    staged = list(versions.keyvalue.scan(*tokens))
    with versions.core.trees.overlaid(versions.repository, base, staged) as tree:
        assert [key for key, _ in listed(tree)] == [b"b", b"c"]
    assert stored(versions) == before
    assert [key for key, _ in contents(versions, base)] == [b"a", b"b"]


def test_scratch_folder_is_removed_also_after_an_error(versions):
    with versions.core.trees.scratch() as folder:
        assert Path(folder).is_dir()
    assert not Path(folder).exists()
    with pytest.raises(RuntimeError), versions.core.trees.scratch() as folder:  # noqa: PT012
        Path(folder, "table").write_bytes(b"x")
        raise RuntimeError
    assert not Path(folder).exists()


def test_scratch_tree_becomes_readable_by_others_when_it_is_adopted(versions, other):
    trees = versions.core.trees
    base = write(versions, WORDS)
    before = stored(versions)
    with trees.scratch() as folder:
        tree = trees.open(versions.repository, base)
        written = tree.apply(rows({"0000": "changed"}), folder)
        overlay = trees.open_overlay(folder, versions.repository, written.metarange_id)
        assert listed(overlay) == rows({**WORDS, "0000": "changed"})
        assert stored(versions) == before
        assert trees.adopt(versions.repository, folder, written) == written.metarange_id
    assert contents(other, written.metarange_id) == rows({**WORDS, "0000": "changed"})


def test_tree_of_a_folder_is_read_without_the_store(versions):
    trees = versions.core.trees
    with trees.scratch() as folder:
        tree = trees.open(versions.repository, EMPTY_TREE_ID)
        written = tree.apply(rows(WORDS), folder)
        assert listed(trees.open_in(folder, written.metarange_id)) == rows(WORDS)
        for name in written.tables:
            Path(folder, name).unlink()
    assert stored(versions) == set()
