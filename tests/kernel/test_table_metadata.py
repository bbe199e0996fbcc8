"""Metadata of tables: properties that are part of their ids."""

from __future__ import annotations

from support.formats.sstable import read_table, table_id

from anabranch import _kernel

RECORDS = [(b"%04d" % number, (b"identity", b"data")) for number in range(300)]
METADATA = {"entity": "branch", "zone": "ü", "a": ""}


def test_metadata_is_in_all_tables_and_their_ids(tmp_path):
    written = _kernel.write_tree(RECORDS, str(tmp_path), metadata=METADATA)
    assert len(written.tables) > 1
    for name in written.tables:
        table = read_table((tmp_path / name).read_bytes())
        kind = "metaranges" if name == written.metarange_id else "ranges"
        assert name == table_id(table.records, {**METADATA, "type": kind})
        for key, value in METADATA.items():
            assert table.properties[key] == value.encode()
        assert _kernel.verify_table(str(tmp_path / name)) == name
    tree = _kernel.Tables().tree(written.metarange_id, lambda name: str(tmp_path / name))
    listing = tree.listing(amount=1000)
    listing.feed([], last=True)
    assert listing.rows() == RECORDS


def test_trees_without_metadata_have_other_ids(tmp_path):
    ids = [
        _kernel.write_tree(RECORDS, str(tmp_path), metadata=metadata).metarange_id
        for metadata in ({}, {"entity": "tag"}, METADATA)
    ]
    assert len(set(ids)) == 3
    assert ids[0] == _kernel.write_tree(RECORDS, str(tmp_path)).metarange_id
