"""Restores of dumps of references: of a real lakeFS, our own and damaged ones."""

from __future__ import annotations

import re

import msgspec
import pytest
from support.recorded.recorded_installation import (
    DUMP,
    MANIFEST,
    check_restored,
    stored_refs,
    unpack,
)

from anabranch import _kernel as kernel
from anabranch.errors import Denied, Gone, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.objects.entry import AddressType
from anabranch.model.repositories.refs_dump import RefsDump
from anabranch.records import lakefs_pb2 as records_pb2
from anabranch.testing.lake import lake_in
from anabranch.versioning.records import dumps, references
from anabranch.versioning.trees.tree_writers import WriteRecords

OBJECTS = MANIFEST["commits"][MANIFEST["branches"]["main"]["commit_id"]]["meta_range_id"]
"""A tree of objects."""

BRANCHES, TAGS, COMMITS = dumps.BRANCHES, dumps.TAGS, dumps.COMMITS


@pytest.fixture
def tables(tmp_path):
    """The folder of tables of the recorded installation's storage namespace."""
    return unpack(tmp_path / "blocks", objects=False)


@pytest.fixture
def objects(tmp_path):
    """Unpacks the objects of the recorded installation, too."""
    unpack(tmp_path / "blocks")


@pytest.fixture
def lake(tmp_path, tables, clock):  # noqa: ARG001  the namespace must be there
    """A lake with a bare repository over the recorded installation's storage namespace."""
    with lake_in(tmp_path, clock, MemoryStore()) as lake:
        lake.repositories.create("sea", "local://sea", bare=True)
        yield lake


def rows(lake, metarange_id):
    tree = lake.core.trees.open(lake.core.repositories.get("sea"), metarange_id)
    page = tree.listing(amount=1000)
    page.feed([], last=True)
    return page.rows()


def rewritten(lake, metarange_id, stored_as, change):
    """Writes a tree of a dump again, with its records changed; returns its id."""
    records = change([(key, value[1]) for key, value in rows(lake, metarange_id)])
    given = sorted((key, (b"identity", data)) for key, data in records)
    made = lake.core.trees.write(
        lake.core.repositories.get("sea"), WriteRecords(given, stored_as.metadata)
    )
    return made.metarange_id


@pytest.mark.usefixtures("objects")
def test_a_dump_of_lakefs_is_restored_byte_for_byte(lake):
    lake.refs_dumps.restore("sea", DUMP)
    check_restored(lake, "sea")


def test_the_restored_repository_is_dumped_as_lakefs_dumped_it(lake, tables):
    lake.refs_dumps.restore("sea", DUMP)
    manifest = (tables / "refs_manifest.json").read_bytes()
    again = lake.refs_dumps.dump("sea")
    assert (again.branches, again.tags) == (DUMP.branches, DUMP.tags)
    theirs, ours = rows(lake, DUMP.commits), rows(lake, again.commits)
    assert [(key, identity) for key, (identity, _) in ours] == [
        (key, identity) for key, (identity, _) in theirs
    ]
    differing = 0
    for (_, (_, mine)), (_, (_, other)) in zip(ours, theirs, strict=True):
        commit = references.commit_from(other)
        assert references.commit_from(mine) == commit
        # Go writes the entries of a map in any order
        assert mine == other or len(commit.metadata) > 1
        differing += mine != other
    assert differing < 5
    for name in (DUMP.commits, again.commits):
        path = str(tables / name)
        assert (
            kernel.table_properties(path)["schema_definition"]
            == kernel.table_properties(str(tables / DUMP.commits))["schema_definition"]
        )
        assert kernel.table_properties(path)["entity"] == b"commit"
    assert (tables / "refs_manifest.json").read_bytes() == manifest.replace(
        DUMP.commits.encode(), again.commits.encode()
    )


def test_the_dump_of_an_empty_repository_restores_nothing(lake):
    lake.refs_dumps.restore("sea", lake.refs_dumps.dump("sea"))
    assert stored_refs(lake, "sea") == []
    lake.refs_dumps.restore("sea", DUMP)


@pytest.mark.usefixtures("objects")
def test_our_dump_is_restored_in_another_repository(lake):
    lake.refs_dumps.restore("sea", DUMP)
    dump = lake.refs_dumps.dump("sea")
    lake.repositories.create("copy", "local://sea", bare=True, default_branch="trunk")
    lake.refs_dumps.restore("copy", dump)
    check_restored(lake, "copy")


def test_restored_branches_can_be_changed(lake):
    lake.refs_dumps.restore("sea", DUMP)
    lake.objects.upload("sea", "main", "new", [b"bytes"])
    commit = lake.commits.commit("sea", "main", message="New", committer="me")
    assert commit.parents == (MANIFEST["branches"]["main"]["commit_id"],)
    assert commit.generation == MANIFEST["commits"][commit.parents[0]]["generation"] + 1
    assert lake.branches.create("sea", "from-tag", "v1.0")


def test_empty_ids_are_trees_without_records(lake):
    """As in lakeFS."""
    lake.refs_dumps.restore("sea", RefsDump(commits="", branches="", tags=""))
    assert stored_refs(lake, "sea") == []
    lake.refs_dumps.restore("sea", msgspec.structs.replace(DUMP, tags=""))
    assert lake.tags.list("sea", amount=100).items == []
    assert len(lake.branches.list("sea", amount=100, show_hidden=True).items) == 6


def test_only_a_bare_repository_is_restored(lake):
    lake.refs_dumps.restore("sea", DUMP)
    before = stored_refs(lake, "sea")
    for call in (lake.refs_dumps.restore, lake.refs_dumps.start_restore):
        with pytest.raises(Invalid, match="can only restore into a bare repository") as caught:
            call("sea", DUMP)
        assert caught.value.kind == "repository_not_bare"
    assert stored_refs(lake, "sea") == before
    with pytest.raises(NotFound):
        lake.refs_dumps.restore("lake", DUMP)


def test_a_read_only_repository_needs_force(lake):
    lake.repositories.create("read", "local://sea", bare=True, read_only=True)
    with pytest.raises(Denied, match="read-only repository"):
        lake.refs_dumps.restore("read", DUMP)
    with pytest.raises(Denied, match="read-only repository"):
        lake.refs_dumps.start_restore("read", DUMP)
    lake.refs_dumps.restore("read", DUMP, force=True)
    assert lake.branches.get("read", "main")


@pytest.mark.parametrize("name", ["commits", "branches", "tags"])
@pytest.mark.parametrize(
    ("metarange_id", "error", "kind"),
    [
        ("x", Invalid, "invalid_table_id"),
        ("../" * 20, Invalid, "invalid_table_id"),
        ("é" * 64, Invalid, "invalid_table_id"),
        ("0" * 64, Gone, "metarange_not_found"),
        (OBJECTS, Invalid, "invalid_refs_dump"),
    ],
    ids=["short", "path", "letters", "absent", "objects"],
)
@pytest.mark.sample(3)
def test_ids_of_no_dump_are_refused(lake, name, metarange_id, error, kind):
    with pytest.raises(error) as caught:
        lake.refs_dumps.restore("sea", msgspec.structs.replace(DUMP, **{name: metarange_id}))
    assert caught.value.kind == kind
    assert stored_refs(lake, "sea") == []


def test_trees_of_a_dump_in_wrong_places_are_refused(lake):
    """Records of branches and tags look alike."""
    swapped = RefsDump(commits=DUMP.commits, branches=DUMP.tags, tags=DUMP.branches)
    with pytest.raises(Invalid, match="records of the kind 'tag', not 'branch'"):
        lake.refs_dumps.restore("sea", swapped)
    assert stored_refs(lake, "sea") == []


def test_every_damaged_byte_of_a_dump_is_noticed(lake, tables, clock):
    names = [DUMP.commits, DUMP.branches, DUMP.tags, OBJECTS]
    names += [
        table.id
        for name in names[:3]
        for table in lake.core.trees.open(lake.core.repositories.get("sea"), name).ranges()
    ]
    for name in names:
        good = (tables / name).read_bytes()
        for position in range(3, len(good), max(1, len(good) // 12)):
            damaged = good[:position] + bytes([good[position] ^ 0x10]) + good[position + 1 :]
            (tables / name).write_bytes(damaged)
            fresh = lake_in(tables.parents[2], clock, lake.keyvalue)
            with fresh, pytest.raises(Invalid) as caught:
                fresh.refs_dumps.restore("sea", DUMP)
            assert caught.value.kind == "invalid_refs_dump"
        (tables / name).write_bytes(good)
    assert stored_refs(lake, "sea") == []
    lake.refs_dumps.restore("sea", DUMP)


def test_missing_tables_are_noticed(lake, tables, clock):
    """Those of the dump, and those of the trees that its commits name."""
    stored = lake.core.repositories.get("sea")
    some = OBJECTS
    ranges = [lake.core.trees.open(stored, name).ranges()[0].id for name in (DUMP.commits, some)]
    for name in (DUMP.tags, some, *ranges):
        good = (tables / name).read_bytes()
        (tables / name).unlink()
        fresh = lake_in(tables.parents[2], clock, lake.keyvalue)
        with fresh, pytest.raises(Gone, match=name):
            fresh.refs_dumps.restore("sea", DUMP)
        (tables / name).write_bytes(good)
    assert stored_refs(lake, "sea") == []
    lake.refs_dumps.restore("sea", DUMP)


def _with(field, value):
    """Returns a change of the first commit's record."""

    def change(records):
        (key, data), *others = records
        commit = msgspec.structs.replace(references.commit_from(data), **{field: value})
        return [(key, references.commit_bytes(commit)), *others]

    return change


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_with("message", "Something else"), "commit id: invalid value"),
        (_with("metarange_id", "0" * 64), "commit id: invalid value"),
        (_with("metadata", {"a": "b"}), "commit id: invalid value"),
        (_with("id", "0" * 64), "has another key"),
        (_with("generation", 0), "generation 0"),
        (_with("generation", 1), "generation 1"),
        (_with("version", 2), "unknown version 2"),
        (lambda records: records[1:], "lacks"),
        (lambda records: [(b"0", records[0][1]), *records], "has another key"),
        (lambda records: [(records[0][0], b"\xff\xff"), *records[1:]], "cannot be read"),
    ],
)
def test_commits_that_do_not_agree_are_refused(lake, change, message):
    commits = rewritten(lake, DUMP.commits, COMMITS, change)
    with pytest.raises(Invalid, match=message) as caught:
        lake.refs_dumps.restore("sea", msgspec.structs.replace(DUMP, commits=commits))
    assert caught.value.kind == "invalid_refs_dump"
    assert stored_refs(lake, "sea") == []


def _ref(name, commit_id=None, *, key=None):
    """Returns a change that adds a branch or a tag."""

    def change(records):
        target = commit_id or references.branch_from(records[0][1]).commit_id
        branch = records_pb2.BranchData(id=name, commit_id=target)
        return [*records, (key or name.encode(), branch.SerializeToString())]

    return change


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("branches", _ref("a b"), "'a b'"),
        ("branches", _ref("-a"), "'-a'"),
        ("branches", _ref("a", key=b"b"), "has another key"),
        ("branches", _ref("a", "0" * 64), "lacks the commit of 'a'"),
        ("branches", _ref(MANIFEST["branches"]["main"]["commit_id"]), "names several"),
        ("tags", _ref("a^"), "'a^'"),
        ("tags", _ref("main"), "names several"),
    ],
)
def test_references_that_cannot_be_are_refused(lake, kind, change, message):
    stored_as = {"branches": BRANCHES, "tags": TAGS}[kind]
    name = rewritten(lake, getattr(DUMP, kind), stored_as, change)
    dump = msgspec.structs.replace(DUMP, **{kind: name})
    with pytest.raises(Invalid, match=re.escape(message)) as caught:
        lake.refs_dumps.restore("sea", dump)
    assert caught.value.kind == "invalid_refs_dump"
    assert stored_refs(lake, "sea") == []


def test_addresses_of_others_are_refused(lake):
    """A dump may be of a client's own making, with commits that are consistent."""
    stored = lake.core.repositories.get("sea")
    entry = kernel.encode_entry("local:///etc/passwd", AddressType.FULL, 0, 0, 1, "c", {}, "")
    tree = lake.core.trees.write(stored, WriteRecords([(b"stolen", entry)]))
    commit = lake.core.commits.make(
        committer="me", message="m", metarange_id=tree.metarange_id, metadata={}, parents=[]
    )
    commits = rewritten(
        lake,
        DUMP.commits,
        COMMITS,
        lambda records: [*records, (commit.id.encode(), references.commit_bytes(commit))],
    )
    with pytest.raises(Denied) as caught:
        lake.refs_dumps.restore("sea", msgspec.structs.replace(DUMP, commits=commits))
    assert caught.value.kind == "address_forbidden"
    assert stored_refs(lake, "sea") == []
