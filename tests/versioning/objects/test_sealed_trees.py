"""Pages behind many staged deletions are read from trees of sealed areas."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from support.session.sizes import sized

from anabranch.errors import NotFound
from anabranch.versioning.objects.sealed_trees import MANY_CHANGES

from .many_objects import MANY, Counted, name


@pytest.fixture
def emptied(versions):
    """The repository with many committed objects, of which all but the last are deleted."""
    versions.commit("main", **{name(number): "x" for number in range(MANY)})
    versions.remove("main", *(name(number) for number in range(MANY - 1)))
    return versions


@pytest.fixture
def process(emptied, tmp_path):
    return Counted(emptied, tmp_path / "counted")


def areas(versions):
    return versions.core.branches.read(versions.repository, "main").branch.tokens


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Temporary folders of this test alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


def folders():
    """Returns the folders of sealed trees."""
    return set(Path(tempfile.gettempdir()).glob("anabranch-sealed-*"))


def test_pages_read_the_deletions_until_the_tree_is_built(emptied, process):
    assert process.page() == ([name(MANY - 1)], MANY - 1)
    assert process.core.sealed_trees.build() == 1
    assert len(areas(emptied)) == 2
    assert process.page() == ([name(MANY - 1)], 0)
    assert process.core.sealed_trees.build() == 0
    assert emptied.contents("main") == {name(MANY - 1): "x"}


def test_short_ways_are_left_alone(versions, tmp_path):
    versions.commit("main", **{name(number): "x" for number in range(100)})
    versions.remove("main", *(name(number) for number in range(99)))
    process = Counted(versions, tmp_path / "counted")
    assert process.page() == ([name(99)], 99)
    assert process.core.sealed_trees.build() == 0
    assert len(areas(versions)) == 1


def test_staged_changes_after_it_are_seen_at_once(emptied, process):
    process.page()
    process.core.sealed_trees.build()
    emptied.put("main", **{name(5): "new", "q": "new"})
    emptied.remove("main", name(MANY - 1))
    assert process.page()[0] == [name(5), "q"]
    assert (
        process.core.objects.entry_at(
            emptied.repository, process.core.references.resolve(emptied.repository, "main"), name(7)
        )
        is None
    )
    # what is deleted already needs no tombstone
    emptied.remove("main", name(7))
    assert process.page() == ([name(5), "q"], 3)


def test_a_commit_and_a_reset_end_it(emptied, process):
    before = folders()
    process.page()
    process.core.sealed_trees.build()
    (made,) = folders() - before
    assert made.is_dir()
    emptied.commit_staged("main")
    assert emptied.contents("main") == {name(MANY - 1): "x"}
    assert process.page() == ([name(MANY - 1)], 0)
    process.core.sealed_trees.build()
    assert not made.exists()

    emptied.remove("main", name(MANY - 1))
    process.core.sealed_trees.ask(
        emptied.repository,
        process.core.references.resolve(emptied.repository, "main"),
        MANY_CHANGES + 1,
    )
    process.core.sealed_trees.build()
    assert process.page()[0] == []
    emptied.core.reset.reset(emptied.repository, "main", "reset")
    assert process.page()[0] == [name(MANY - 1)]


def test_one_object_taken_back_shows_again(emptied, process):
    process.page()
    process.core.sealed_trees.build()
    emptied.core.reset.reset(emptied.repository, "main", "object", name(3))
    emptied.core.reset.reset(emptied.repository, "main", "common_prefix", "p00001")
    taken_back = [name(3), *(name(number) for number in range(10, 20))]
    assert process.page(amount=100)[0] == [*taken_back, name(MANY - 1)]


@pytest.mark.slow
def test_areas_are_few_however_often_pages_are_read(versions, tmp_path):
    """Who deletes the first page again and again pays for a part of what is deleted."""
    total = 40_000
    versions.commit("main", **{name(number): "x" for number in range(total)})
    process = Counted(versions, tmp_path / "counted")
    read = 0
    for first in range(0, total, 1000):
        paths, rows = process.page(amount=1000)
        assert paths[0] == name(first)
        read += rows
        versions.remove("main", *paths)
        process.core.sealed_trees.build()
    assert process.page()[0] == []
    assert len(areas(versions)) <= 9
    # without trees: 0 + 1000 + 2000 + ... = 780,000
    assert read < 120_000


@pytest.mark.slow
def test_a_branch_never_has_very_many_areas(versions):
    """However often a page asks: beyond some areas, only a large one is sealed."""
    total = sized(30_000, weekly=60_000)
    versions.commit("main", **{name(number): "x" for number in range(total)})
    repository, core = versions.repository, versions.core
    for first in range(0, total, 500):
        versions.remove("main", *(name(number) for number in range(first, first + 500)))
        core.sealed_trees.ask(
            repository, core.references.resolve(repository, "main"), MANY_CHANGES + 1
        )
        core.sealed_trees.build()
    assert len(areas(versions)) < 40
    assert versions.contents("main") == {}


def test_a_process_that_looks_into_many_areas_gets_a_tree(versions, tmp_path):
    versions.commit("main", **{name(number): "x" for number in range(10)})
    for number in range(6):
        versions.remove("main", name(number))
        versions.core.committer.seal(versions.repository, "main")
    process = Counted(versions, tmp_path / "counted")
    repository, core = process.repository, process.core
    resolved = core.references.resolve(repository, "main")
    assert core.objects.entry_at(repository, resolved, name(0)) is None
    assert core.sealed_trees.build() == 1
    assert core.sealed_trees.find(resolved.commit_id, resolved.tokens).changes == 6
    assert core.objects.entry_at(repository, resolved, name(0)) is None
    assert core.objects.entry_at(repository, resolved, name(9)) is not None
    assert core.sealed_trees.build() == 0


@pytest.mark.slow
def test_who_deletes_much_builds_before_anyone_reads(versions):
    total = 17 * MANY_CHANGES
    versions.commit("main", **{name(number): "x" for number in range(total)})
    for first in range(0, total - 1, 10_000):
        last = min(first + 10_000, total - 1)
        versions.remove("main", *(name(number) for number in range(first, last)))
        assert versions.core.sealed_trees.build() == (last >= 16 * MANY_CHANGES)
    versions.remove("main", name(total - 1))
    assert versions.core.sealed_trees.build() == 0
    assert versions.core.sealed_trees.build() == 0
    assert versions.contents("main") == {}


def test_the_rest_is_built_when_no_more_is_deleted(emptied, tmp_path):
    """A few thousand deletions are built when half a second has passed without another."""
    trees = emptied.core.sealed_trees
    assert [trees.build() for _ in range(4)] == [0, 1, 0, 0]
    emptied.put("main", new="x")
    emptied.remove("main", "new")
    assert [trees.build() for _ in range(3)] == [0, 0, 0]
    assert Counted(emptied, tmp_path / "counted").page() == ([name(MANY - 1)], MANY - 1)
    assert emptied.contents("main") == {name(MANY - 1): "x"}


def test_differences_read_the_tree_too(process):
    repository, core = process.repository, process.core

    def removed():
        before = process.store.rows
        resolved = core.references.resolve(repository, "main")
        head = core.references.resolve(repository, "main@")
        with core.differ.tree_at(repository, head) as ours:  # noqa: SIM117
            with core.differ.tree_at(repository, resolved) as theirs:
                page = core.differ.two_dot(ours, theirs, amount=MANY)
        return len(page.items), process.store.rows - before

    assert removed() == (MANY - 1, MANY - 1)
    assert core.sealed_trees.build() == 1
    assert removed() == (MANY - 1, 0)


@pytest.mark.parametrize("loss", ["the folder is emptied", "a table is damaged"])
def test_lost_and_damaged_files_are_done_without(emptied, tmp_path, loss):
    before = folders()
    process = Counted(emptied, tmp_path / "counted")
    # another area, so that the tree is not empty, and whose tables were never open
    emptied.put("main", **{name(number): "new" for number in range(0, MANY, 2)})
    process.core.sealed_trees.ask(
        emptied.repository,
        process.core.references.resolve(emptied.repository, "main"),
        MANY_CHANGES + 1,
    )
    process.core.sealed_trees.build()
    (folder,) = folders() - before
    for table in folder.iterdir():
        if table.name.startswith("."):
            continue
        if loss == "a table is damaged":
            damaged = bytearray(table.read_bytes())
            damaged[10] ^= 255
            table.write_bytes(damaged)
        else:
            table.unlink()
    expected = [name(number) for number in range(0, 20, 2)]
    assert process.page()[0] == expected
    resolved = process.core.references.resolve(emptied.repository, "main")
    entry = process.core.objects.entry_at(emptied.repository, resolved, name(MANY - 2))
    assert entry.metadata == {"word": "new"}


def test_a_closed_process_builds_no_more(process):
    process.page()
    process.core.sealed_trees.close()
    assert process.core.sealed_trees.build() == 0
    assert process.page() == ([name(MANY - 1)], MANY - 1)


def test_a_branch_that_is_gone_is_not_built(emptied, process):
    emptied.branch("gone")
    emptied.remove("gone", *(name(number) for number in range(MANY - 1)))
    process.page("gone")
    emptied.core.branches.delete(emptied.repository, "gone")
    assert process.core.sealed_trees.build() == 0
    with pytest.raises(NotFound):
        process.page("gone")
