"""Damaged, missing and contradictory tables: an error that names the file, never an answer."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _kernel
from anabranch.testing.tree_strategies import CUTS, KEYS, value

from .conftest import Lake, patient, read

RECORDS = {key: value(key, 0) for key in KEYS}
CHANGES = [(key, value(key, 1)) for key in KEYS]


def operations(tree, others, folder):
    """Everything that reads all of a tree."""
    changed, base = others
    yield lambda: read(tree)
    yield lambda: tree.get_many(KEYS)
    yield lambda: tree.diff(changed, amount=1000)
    yield lambda: changed.diff(tree, amount=1000)
    yield lambda: changed.compare(tree, base, amount=1000)
    yield lambda: tree.apply(CHANGES, folder)
    yield lambda: changed.merge(tree, base, folder, strategy="source-wins")


@pytest.fixture
def others(lake):
    changed = {key: value(key, 1) for key in KEYS}
    return lake.write(changed), lake.open("")


def test_a_missing_range_is_named(own_lake, lake, others):
    tree = own_lake.write(RECORDS)
    gone = tree.ranges()[3].id
    (own_lake.folder / gone).unlink()
    tree = Lake(own_lake.folder).open(tree.metarange_id)
    for operation in operations(tree, others, str(lake.folder)):
        with pytest.raises(_kernel.MissingTable) as caught:
            operation()
        assert caught.value.table_id == gone
        assert caught.value.path == own_lake.locate(gone)
    assert tree.get(KEYS[0]) == RECORDS[KEYS[0]], "the others can be read"


def test_a_missing_metarange_is_named(own_lake):
    name = "ab" * 32
    with pytest.raises(_kernel.MissingTable) as caught:
        own_lake.open(name)
    assert (caught.value.table_id, caught.value.path) == (name, own_lake.locate(name))


def test_a_name_that_is_no_id_is_refused(own_lake):
    for name in ("x", "../secret", "AB" * 32, "ab" * 33):
        with pytest.raises(_kernel.KernelError, match="not the id"):
            own_lake.tables.tree(name, pytest.fail)


@patient
@given(st.data())
def test_a_flipped_bit_is_found_or_of_no_account(lake, tmp_path_factory, data):
    tree = lake.write(RECORDS)
    damaged = Lake(tmp_path_factory.mktemp("damaged"))
    for name in [tree.metarange_id, *(info.id for info in tree.ranges())]:
        (damaged.folder / name).symlink_to(lake.locate(name))
    victim = data.draw(st.sampled_from([tree.metarange_id, *(i.id for i in tree.ranges())]))
    content = bytearray((lake.folder / victim).read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    (damaged.folder / victim).unlink()
    (damaged.folder / victim).write_bytes(content)
    found = outcome(damaged, tree.metarange_id)
    assert found in (RECORDS, damaged.locate(victim))


def outcome(lake, metarange_id):
    """Returns all records, or the file that cannot be read."""
    try:
        return read(lake.open(metarange_id))
    except _kernel.CorruptTable as error:
        return error.path


def test_damaged_blocks_are_named_by_every_operation(own_lake, lake, others):
    tree = own_lake.write(RECORDS)
    victim = max(own_lake.folder.iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(victim.read_bytes())
    content[10] ^= 0xFF
    victim.write_bytes(content)
    tree = Lake(own_lake.folder).open(tree.metarange_id)
    for operation in operations(tree, others, str(lake.folder)):
        with pytest.raises(_kernel.CorruptTable) as caught:
            operation()
        assert caught.value.path == str(victim)
    with pytest.raises(pa.ArrowInvalid, match=victim.name):
        pa.table(tree.scan(decoded=False))


def contradictions(tree):
    """Lists of ranges that are not those of the files, with what is wrong."""
    ranges = tree.ranges()

    def with_one(**changed):
        fields = ("id", "min_key", "max_key", "count", "estimated_size")
        now = {name: getattr(ranges[1], name) for name in fields} | changed
        return [ranges[0], _kernel.RangeInfo(**now), *ranges[2:]]

    yield with_one(min_key=KEYS[KEYS.index(ranges[1].min_key) + 1]), "bounds or count"
    yield with_one(max_key=ranges[1].max_key + b"+"), "bounds or count"
    yield with_one(count=ranges[1].count + 1), "bounds or count"
    yield with_one(count=-1), "negative"
    yield with_one(min_key=ranges[0].max_key), "overlap"
    yield with_one(min_key=ranges[1].max_key + b"+"), "ends before"
    yield with_one(id=tree.metarange_id), "type"
    yield with_one(id="../../etc/passwd"), "bad id"


def test_a_metarange_that_contradicts_its_ranges_is_corrupt(own_lake):
    tree = own_lake.write(RECORDS)
    for ranges, reason in contradictions(tree):
        name = _kernel.write_metarange(ranges, str(own_lake.folder))
        with pytest.raises(_kernel.CorruptTable, match=reason) as caught:
            read(own_lake.open(name))
        assert caught.value.path in (own_lake.locate(name), own_lake.locate(ranges[1].id))


def test_a_range_is_no_metarange(own_lake):
    tree = own_lake.write(RECORDS)
    with pytest.raises(_kernel.CorruptTable, match="metaranges"):
        own_lake.open(tree.ranges()[0].id)


def test_what_goes_wrong_in_finding_a_file_is_handed_on(own_lake, lake, others):
    metarange_id = own_lake.write(RECORDS).metarange_id
    unreachable = own_lake.open(metarange_id).ranges()[2].id

    def locate(table_id):
        if table_id == unreachable:
            raise ConnectionError("the store is away")
        return own_lake.locate(table_id)

    tree = _kernel.Tables().tree(metarange_id, locate)
    for operation in operations(tree, others, str(lake.folder)):
        with pytest.raises(ConnectionError, match="away"):
            operation()
    with pytest.raises(TypeError):
        _kernel.Tables().tree(metarange_id, lambda _: 5)


def test_ranges_swapped_on_disk_are_found(own_lake):
    tree = own_lake.write(RECORDS)
    one, other = (own_lake.folder / tree.ranges()[number].id for number in (1, 2))
    other.unlink()
    other.write_bytes(one.read_bytes())
    tree = Lake(own_lake.folder).open(tree.metarange_id)
    with pytest.raises(_kernel.CorruptTable) as caught:
        tree.get(CUTS[2])
    assert caught.value.path == str(other)
