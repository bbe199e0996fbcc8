"""Tables, read by the kernel and by a reader in plain Python."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.formats.sstable import read_table, table_id

from anabranch import _kernel

OWN = Path(__file__).parents[1] / "data" / "lakefs-1.84"
FIXTURES = Path(os.environ.get("ANABRANCH_FIXTURES", Path(__file__).parents[3] / "shared/fixtures"))


def lakefs_tables() -> list[Path]:
    """Our own test data and, where it is, the whole fixture; its two largest ranges excepted,
    which would take the reader in plain Python seconds."""
    whole = FIXTURES / "written-by-lakefs-1.84" / "_lakefs"
    files = [*OWN.iterdir(), *(whole.iterdir() if whole.exists() else ())]
    return [path for path in files if len(path.name) == 64 and path.stat().st_size < 2_500_000]


@pytest.mark.parametrize("path", lakefs_tables(), ids=lambda path: path.name[:8])
def test_tables_of_lakefs_are_read_alike(path):
    table = read_table(path.read_bytes())
    assert _kernel.table_records(str(path)) == table.records
    assert _kernel.table_properties(str(path)) == table.properties
    metadata = {"type": table.properties["type"].decode()}
    assert _kernel.verify_table(str(path)) == path.name == table_id(table.records, metadata)


def test_a_corrupt_table_names_its_file(tmp_path):
    good = min(lakefs_tables(), key=lambda path: path.stat().st_size).read_bytes()
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
