"""Tables, read by the kernel and by a reader in plain Python."""

from __future__ import annotations

import pytest
from support.formats.sstable import read_table, table_id
from support.recorded.recorded_trees import RECORDINGS, table_folder

from anabranch import _kernel

SLOW_BYTES = 2_500_000
"""The reader in plain Python takes seconds for larger tables."""


def lakefs_tables():
    """Returns parameters with all tables of the recorded trees but the largest."""
    names = [
        (each, ()) if isinstance(each, str) else (*each.values, each.marks) for each in RECORDINGS
    ]
    return [
        pytest.param(path, marks=marks, id=f"{name}-{path.name[:8]}")
        for name, marks in names
        for path in sorted(table_folder(name).iterdir())
        if path.stat().st_size < SLOW_BYTES
    ]


@pytest.fixture(scope="module")
def small_table():
    """The bytes of the smallest table that lakeFS wrote here."""
    return min((path.read_bytes() for path in table_folder("small").iterdir()), key=len)


@pytest.mark.sample(6)
@pytest.mark.parametrize("path", lakefs_tables())
def test_tables_of_lakefs_are_read_alike(path):
    table = read_table(path.read_bytes())
    assert _kernel.table_records(str(path)) == table.records
    assert _kernel.table_properties(str(path)) == table.properties
    metadata = {"type": table.properties["type"].decode()}
    assert _kernel.verify_table(str(path)) == path.name == table_id(table.records, metadata)


def test_a_corrupt_table_names_its_file(tmp_path, small_table):
    good = small_table
    path = tmp_path / "table"
    for position in range(0, len(good), 11):
        path.write_bytes(good[:position] + bytes([good[position] ^ 0x10]) + good[position + 1 :])
        with pytest.raises(_kernel.CorruptTable) as caught:
            _kernel.verify_table(str(path))
        assert caught.value.path == str(path)
        assert caught.value.reason
        assert str(path) in str(caught.value)
    for call in (_kernel.table_records, _kernel.table_properties, _kernel.verify_table):
        path.write_bytes(good[:-1])
        with pytest.raises(_kernel.CorruptTable):
            call(str(path))


def test_a_missing_table_is_named(tmp_path):
    path = tmp_path / ("ab" * 32)
    with pytest.raises(_kernel.MissingTable) as caught:
        _kernel.verify_table(str(path))
    assert caught.value.table_id == path.name
    assert caught.value.path == str(path)
    assert isinstance(caught.value, _kernel.KernelError)


def test_what_is_no_file_is_corrupt(tmp_path):
    with pytest.raises(_kernel.CorruptTable):
        _kernel.verify_table(str(tmp_path))
    (tmp_path / "empty").touch()
    with pytest.raises(_kernel.CorruptTable):
        _kernel.verify_table(str(tmp_path / "empty"))
    with pytest.raises(_kernel.CorruptTable):
        _kernel.verify_table("/dev/null")


def test_range_infos_are_values():
    info = _kernel.RangeInfo("ab", b"a\x00", b"b", 3, 4)
    assert (info.id, info.min_key, info.max_key) == ("ab", b"a\x00", b"b")
    assert (info.count, info.estimated_size) == (3, 4)
    assert info == _kernel.RangeInfo("ab", b"a\x00", b"b", 3, 4)
    assert info != _kernel.RangeInfo("ab", b"a\x00", b"b", 3, 5)
    assert eval(repr(info), {"RangeInfo": _kernel.RangeInfo}) == info  # noqa: S307  our own text
