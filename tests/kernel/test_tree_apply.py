"""Changes made in trees, against dictionaries and against trees written at once."""

from __future__ import annotations

import hashlib
import random

import pytest
from hypothesis import given
from support.formats.sstable import decode_value, read_table

from anabranch import _kernel
from anabranch.testing import tree_model
from anabranch.testing.tree_strategies import CUTS, KEYS, changes, records, value

from .conftest import EMPTY, Lake, encoded, patient, read


def kinds(rows):
    names = [row[0] for row in rows]
    return tuple(names.count(kind) for kind in ("added", "changed", "removed"))


@patient
@given(records(), changes(), changes())
def test_the_result_is_that_of_a_dictionary(lake, first, earlier, last):
    base, before = lake.commit(first, earlier)
    after = tree_model.applied(before, last)
    written = base.apply(last, str(lake.folder))
    tree = lake.open(written.metarange_id)
    assert read(tree) == after
    assert written.count == len(tree) == len(after)
    assert (written.added, written.changed, written.removed) == kinds(
        tree_model.diff(before, after)
    )
    if read(base) == after:
        assert written.metarange_id == base.metarange_id
        assert written.tables == []


@patient
@given(records(), changes(60))
def test_ranges_are_kept_or_written(lake, first, last):
    base = lake.write(first)
    written = base.apply(last, str(lake.folder))
    tree = lake.open(written.metarange_id)
    kept = {info.id for info in base.ranges()} | {base.metarange_id, ""}
    ids = [info.id for info in tree.ranges()]
    assert written.tables == [name for name in [*ids, tree.metarange_id] if name not in kept]
    for table_id in written.tables:
        assert _kernel.verify_table(lake.locate(table_id)) == table_id


@patient
@given(records(), changes(60))
def test_where_all_ranges_are_touched_the_tree_is_as_if_written_at_once(lake, first, last):
    base = lake.write(first)
    after = tree_model.applied(read(base), last)
    changed = [row[1] for row in tree_model.diff(read(base), after)]
    start = b""
    for info in base.ranges():
        if not any(start < key <= info.max_key for key in changed):
            return
        start = info.max_key
    assert lake.apply(base, last).ranges() == lake.write(after).ranges()


@patient
@given(changes(60))
def test_changes_in_nothing_write_a_tree(lake, all_changes):
    written = lake.open("").apply(all_changes, str(lake.folder))
    records = tree_model.applied({}, all_changes)
    expected = lake.write(records).metarange_id if records else _kernel.EMPTY_TREE_ID
    assert written.metarange_id == expected


@patient
@given(records(), changes())
def test_staged_records_are_the_changes_they_hold(lake, first, last):
    base = lake.write(first)
    written = base.apply(last, str(lake.folder))
    staged = base.apply_staged(encoded(last), str(lake.folder))
    assert (staged.metarange_id, staged.tables) == (written.metarange_id, written.tables)
    assert (staged.added, staged.changed, staged.removed) == (
        written.added,
        written.changed,
        written.removed,
    )


def test_what_is_no_staged_record_is_refused(own_lake):
    base = own_lake.write({b"k": value(b"k", 0)})
    before = own_lake.names()
    with pytest.raises(_kernel.KernelError):
        base.apply_staged([*encoded([(b"a", None)]), (b"k", b"\x0a\x7f")], str(own_lake.folder))
    assert own_lake.names() == before


def test_untouched_ranges_are_reused(own_lake):
    base = own_lake.write({key: value(key, 0) for key in KEYS})
    middle = CUTS[6]
    written = base.apply([(middle, value(middle, 1))], str(own_lake.folder))
    tree = own_lake.open(written.metarange_id)
    new = {info.id for info in tree.ranges()} - {info.id for info in base.ranges()}
    assert len(new) == 1
    assert sorted(written.tables) == sorted([*new, tree.metarange_id])


def test_what_changes_nothing_writes_nothing(own_lake):
    base = own_lake.write({key: value(key, 0) for key in KEYS})
    before = own_lake.names()
    same = [(key, value(key, 0, address=1)) for key in KEYS]
    for nothing in ([], same, [(b"not there", None)]):
        written = base.apply(nothing, str(own_lake.folder))
        assert (written.metarange_id, written.tables) == (base.metarange_id, [])
        assert written.count == len(KEYS)
        assert (written.added, written.changed, written.removed) == (0, 0, 0)
    assert own_lake.names() == before


def test_everything_deleted_is_the_empty_tree(lake):
    base = lake.write({key: value(key, 0) for key in KEYS})
    written = base.apply([(key, None) for key in KEYS], str(lake.folder))
    assert (written.metarange_id, written.tables) == (EMPTY, [EMPTY])
    assert (written.count, written.removed) == (0, len(KEYS))


@pytest.mark.parametrize("names", [(b"b", b"a"), (b"a", b"a")])
def test_keys_out_of_order_are_refused(own_lake, names):
    base = own_lake.write({b"k": value(b"k", 0)})
    before = own_lake.names()
    with pytest.raises(ValueError, match='"a"'):
        base.apply([(name, None) for name in names], str(own_lake.folder))
    with pytest.raises(ValueError, match='"a"'):
        _kernel.write_tree([(name, value(name, 0)) for name in names], str(own_lake.folder))
    assert own_lake.names() == before


def test_an_error_of_the_source_of_changes_is_handed_on(lake):
    def changes():
        yield b"a", None
        raise LookupError("the staging area is gone")

    with pytest.raises(LookupError, match="staging area"):
        lake.open("").apply(changes(), str(lake.folder))


def test_a_folder_that_is_not_there_is_an_error_of_the_system(lake):
    with pytest.raises(FileNotFoundError) as caught:
        lake.open("").apply([(b"k", value(b"k", 0))], str(lake.folder / "none"))
    assert str(lake.folder / "none") in caught.value.filename


ROOMY = tuple(sorted({*CUTS, *(cut + b"/%03d" % number for cut in CUTS for number in range(40))}))
"""Keys of ranges that have many blocks each."""

SIZES = (0, 0, 30, 200, 900, 5_000, 100_000)


def sized(key: bytes, version: int) -> _kernel.Value:
    """Returns a value that is mostly empty or small, at times huge."""
    noise = hashlib.shake_128(b"%s %d" % (key, version)).digest(2)
    size = SIZES[noise[0] % len(SIZES)] if noise[1] % 16 == 0 else SIZES[noise[0] % 5]
    return hashlib.sha256(noise).digest(), hashlib.shake_128(noise + key).digest(size)


@pytest.mark.parametrize("seed", range(8))
def test_files_are_those_of_records_written_one_by_one(tmp_path, seed):
    choice = random.Random(seed)
    amount = choice.randrange(1, 40)
    held = [key for key in ROOMY if choice.random() < 0.7]
    changed = {key: choice.choice((None, 1, 2)) for key in choice.sample(ROOMY, amount)}
    lakes = [Lake(tmp_path / name) for name in ("base", "applied", "by record")]
    for lake in lakes:
        lake.folder.mkdir()
    base = lakes[0].write({key: sized(key, 0) for key in held})
    rows = [(key, version and sized(key, version)) for key, version in sorted(changed.items())]
    tables = set(base.apply(rows, str(lakes[1].folder)).tables)
    assert tables == lakes[1].names(), "the folder is new, so all bytes in it are of this commit"
    for name in tables:
        file = (lakes[1].folder / name).read_bytes()
        table = read_table(file)
        if table.properties["type"] == b"ranges":
            records = {key: decode_value(framed) for key, framed in table.records}
            lakes[2].write(records)
            assert (lakes[2].folder / name).read_bytes() == file
