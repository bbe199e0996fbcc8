"""Exports, compared with a dictionary of the expected files."""

from __future__ import annotations

import hashlib
import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.progress import CallbackProgress
from support.session.hypothesis_profiles import examples

from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Conflict, Corrupt, Gone, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.pipelines.exports.destination_parsing import parse_destination
from anabranch.pipelines.exports.export import Exporter
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.exports.state import STATE, read_state
from anabranch.versioning.core import Core


@pytest.fixture
def lake(tmp_path):
    blocks = LocalBlocks(tmp_path / "blocks")
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


@pytest.fixture(params=["folder", "prefix"])
def place(request, lake, tmp_path):
    """Returns a new destination object for one address: a folder, or a prefix of the store."""
    address = str(tmp_path / "out") if request.param == "folder" else "local://exports/sea"
    return lambda: parse_destination(address, lake.blocks)


@pytest.fixture
def folder(tmp_path):
    return FolderDestination(tmp_path / "out")


def commit(lake, objects, *, branch="main", repository="sea"):
    """Commits a branch with exactly these objects, and returns the commit's id."""
    current = {}
    page = lake.objects.listing(repository, branch, amount=1000)
    for item in page.items:
        current[item.path] = item.entry.checksum
    for path in current.keys() - objects.keys():
        lake.objects.delete(repository, branch, path)
    for path, content in objects.items():
        if current.get(path) != hashlib.md5(content).hexdigest():
            lake.objects.upload(repository, branch, path, [content])
    return lake.commits.commit(repository, branch, message="m", committer="c").id


def exported(place):
    """Returns the files at a destination, without the state and the marker of the export."""
    files = {}
    for path in place.paths():
        if path != STATE and not path.startswith("EXPORT_"):
            files[path] = place.read_note(path)
    return files


def export(lake, place, reference="main", **options):
    return Exporter(lake.core, lake.blocks, page=4).export("sea", reference, place, **options)


def test_second_export_copies_and_removes_only_changed_objects(lake, place):
    first = {"a": b"1", "b/c": b"22", "b/d": b"", "e f/ü.csv": b"333"}
    commit(lake, first)
    summary = export(lake, place())
    assert exported(place()) == first
    assert (summary.stored, summary.bytes, summary.removed, summary.before) == (4, 6, 0, "")

    second = {"a": b"1", "b/c": b"new", "g": b"4"}
    newest = commit(lake, second)
    summary = export(lake, place())
    assert exported(place()) == second
    assert (summary.stored, summary.removed) == (2, 2), "unchanged objects are not copied"
    markers = [path for path in place().paths() if path.startswith("EXPORT_")]
    assert markers == [summary.marker]
    assert markers[0].startswith(f"EXPORT_{newest}_")
    assert markers[0].endswith("_SUCCESS")
    assert msgspec.json.decode(place().read_note(summary.marker))["commit"] == newest

    assert export(lake, place()).stored == 0
    assert export(lake, place(), "main~1").stored == 3
    assert exported(place()) == first


def test_path_can_become_a_folder_and_a_file_again(lake, folder):
    for objects in ({"a": b"1", "b/c/d": b"2"}, {"a/x": b"3", "b": b"4"}, {"a": b"5"}):
        commit(lake, objects)
        export(lake, folder)
        assert exported(folder) == objects


def test_staged_changes_are_not_exported(lake, folder):
    commit(lake, {"a": b"1"})
    lake.objects.upload("sea", "main", "b", [b"2"])
    export(lake, folder)
    assert exported(folder) == {"a": b"1"}


def test_other_files_are_kept_unless_remove_extra(lake, place):
    commit(lake, {"a": b"1"})
    place().write_notes({"theirs": b"x"})
    export(lake, place())
    assert exported(place()) == {"a": b"1", "theirs": b"x"}
    summary = export(lake, place(), remove_extra=True)
    assert (summary.extra, exported(place())) == (1, {"a": b"1"})
    assert read_state(place()).complete == summary.commit


def test_everything_copies_unchanged_objects(lake, folder, tmp_path):
    commit(lake, {"a": b"1", "b": b"2"})
    export(lake, folder)
    (tmp_path / "out" / "a").unlink()
    assert export(lake, folder).stored == 0, "the state is trusted"
    assert export(lake, folder, everything=True).stored == 2
    assert exported(folder) == {"a": b"1", "b": b"2"}


class FailingDestination:
    """A destination that fails after `remaining` objects."""

    def __init__(self, place, remaining):
        self._place, self._remaining = place, remaining

    def __getattr__(self, name):
        return getattr(self._place, name)

    def store(self, path, source):
        if self._remaining <= 0:
            raise Gone("interrupted")
        self._remaining -= 1
        return self._place.store(path, source)


names = st.sampled_from(["a", "b", "b/c", "d/e", "d/f", "g", "h", "i/j/k"])
path_sets = st.sets(names).map(lambda paths: paths - {"b/c"} if "b" in paths else paths)
states = st.lists(
    st.tuples(
        path_sets.flatmap(
            lambda paths: st.fixed_dictionaries({n: st.sampled_from([b"1", b"2"]) for n in paths})
        ),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=examples(30), deadline=None)
@given(states, st.booleans())
def test_interrupted_exports_are_repaired_by_an_export_of_any_commit(
    tmp_path_factory, commits, repeat
):
    root = tmp_path_factory.mktemp("export")
    blocks = LocalBlocks(root / "blocks")
    with Lake(MemoryStore(), blocks, cache_folder=root / "cache", signing_secret=b"secret") as lake:
        lake.repositories.create("sea", "local://sea")
        place = FolderDestination(root / "out")
        for number, (objects, remaining) in enumerate(commits):
            commit(lake, {**objects, "number": str(number).encode()})
            for _ in range(2 if repeat else 1):
                try:
                    export(lake, FailingDestination(place, remaining))
                except Gone:
                    assert read_state(place).attempts
        export(lake, place)
        assert exported(place) == {**objects, "number": str(number).encode()}


def test_interrupted_export_resumes_where_it_stopped(lake, folder):
    objects = {f"{number:03d}": b"%d" % number for number in range(40)}
    commit(lake, objects)
    with pytest.raises(Gone):
        export(lake, FailingDestination(folder, 21))
    assert export(lake, folder).stored <= 40 - 20
    assert exported(folder) == objects


def test_paths_that_are_invalid_in_a_folder_raise_or_are_skipped(lake, folder, tmp_path):
    odd = {"a//b": b"1", "../c": b"2", "d/": b"3", "n" * 300: b"4", "e": b"5", "e/f": b"6"}
    commit(lake, {**odd, "good": b"7"})
    with pytest.raises(Invalid, match="cannot be exported there") as refused:
        export(lake, folder)
    assert refused.value.kind == "unfit_path"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blocks", "cache", "out"]
    summary = export(lake, folder, skip_invalid=True)
    assert exported(folder) in ({"good": b"7", "e": b"5"}, {"good": b"7", "e/f": b"6"})
    assert (summary.invalid, len(summary.shown)) == (5, 5)


def test_directory_markers_become_folders(lake, folder, tmp_path):
    objects = {"a/": b"", "a/b/": b"", "a/c": b"1", "d": b"2"}
    commit(lake, objects)
    assert (export(lake, folder).stored, exported(folder)) == (4, {"a/c": b"1", "d": b"2"})
    assert (tmp_path / "out" / "a" / "b").is_dir()
    commit(lake, {**objects, "d/": b""})
    with pytest.raises(Invalid, match="one name"):
        export(lake, folder)
    del objects["a/b/"]
    commit(lake, objects)
    export(lake, folder)
    assert sorted(path.name for path in (tmp_path / "out" / "a").iterdir()) == ["c"]
    assert exported(folder) == {"a/c": b"1", "d": b"2"}


def test_symbolic_links_in_the_folder_are_not_followed(lake, folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (tmp_path / "out" / "link").symlink_to(outside)
    commit(lake, {"link/a": b"1", "b": b"2"})
    with pytest.raises(Invalid, match="symbolic link"):
        export(lake, folder)
    export(lake, folder, skip_invalid=True, remove_extra=True)
    assert [path.name for path in outside.iterdir()] == ["kept"]
    assert exported(folder) == {"b": b"2"}


def test_missing_or_damaged_bytes_fail_the_export(lake, folder, tmp_path):
    commit(lake, {"a": b"12345", "b": b"678"})
    (file,) = [
        p
        for p in (tmp_path / "blocks" / "sea" / "data").rglob("*")
        if p.is_file() and p.stat().st_size == 5
    ]
    file.write_bytes(b"54321")
    lake.blocks.checked.up_to_bytes = 0  # like a store that does not verify reads
    with pytest.raises(Corrupt, match=r"^a: 5 bytes with the MD5"):
        export(lake, folder)
    lake.blocks.checked.up_to_bytes = 5
    with pytest.raises(Gone, match=r"^a: .*the file is damaged"):
        export(lake, folder)
    file.unlink()
    with pytest.raises(Gone, match=r"^a: .*/data/") as caught:
        export(lake, folder)
    assert caught.value.kind == "data_missing"
    assert not [name for name in folder.paths() if name.startswith("EXPORT_")]


def test_damaged_table_raises_corrupt_before_extra_files_are_removed(lake, folder, tmp_path):
    commit(lake, {"a": b"1"})
    export(lake, folder)
    (tmp_path / "out" / "extra").write_text("1")
    head = lake.commits.get("sea", "main")
    tree = lake.core.trees.open(lake.core.repositories.get("sea"), head.metarange_id)
    (damaged,) = tree.ranges()
    (tmp_path / "blocks" / "sea" / "_lakefs" / damaged.id).write_bytes(b"not a table")
    # another process, which has not opened the table yet
    fresh = Core(lake.keyvalue, TableCache(lake.blocks, tmp_path / "c", 1 << 20, verify=str))
    with pytest.raises(Corrupt, match=damaged.id):
        Exporter(fresh, lake.blocks).export("sea", "main", folder, remove_extra=True)
    assert exported(folder) == {"a": b"1", "extra": b"1"}


def test_destinations_of_other_data_raise(lake, folder, tmp_path):
    commit(lake, {"a": b"1"})
    export(lake, folder)
    lake.repositories.create("lake", "local://lake")
    commit(lake, {"z": b"9"}, repository="lake")
    with pytest.raises(Conflict, match="repository sea"):
        Exporter(lake.core, lake.blocks).export("lake", "main", folder)
    for place in ("local://sea/x", "local://lake", str(tmp_path), str(tmp_path / "blocks" / "sea")):
        with pytest.raises(Invalid, match="has its data there"):
            export(lake, parse_destination(place, lake.blocks))
    with pytest.raises(Invalid):
        parse_destination("s3://elsewhere/x", lake.blocks)
    with pytest.raises(NotFound):
        export(lake, folder, "no-such-branch")


def test_damaged_state_raises_corrupt(lake, folder):
    commit(lake, {"a": b"1"})
    folder.write_notes({STATE: b"{"})
    with pytest.raises(Corrupt, match=STATE):
        export(lake, folder)
    assert export(lake, folder, everything=True).stored == 1


def test_progress_is_reported_by_page(lake, folder):
    chance = random.Random(0)
    objects = {f"d{chance.randrange(9)}/{number}": b"%d" % number for number in range(300)}
    commit(lake, objects)
    reported = []
    Exporter(lake.core, lake.blocks, progress=CallbackProgress(reported.append), page=64).export(
        "sea", "main", folder
    )
    assert (sum(reported), len(reported)) == (300, 5)
    assert exported(folder) == objects
