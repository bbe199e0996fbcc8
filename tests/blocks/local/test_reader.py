"""The reader of local blocks, compared with the store that writes them."""

from __future__ import annotations

import pytest

from anabranch.blocks.local.reader import LocalReader
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Gone, Invalid

NAMESPACES = [
    "local://sea",
    "local:///odd//spelling/",
    "local://a/./b",
    "local://a/../b",
    "local://",
    "s3://bucket/a",
    "local://" + 300 * "x",
]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_namespaces_are_those_of_the_store(tmp_path, namespace):
    store, reader = LocalBlocks(tmp_path), LocalReader(tmp_path)
    try:
        assert reader.accepts(namespace) is store.accepts(namespace)
        if store.accepts(namespace):
            assert reader.namespace(namespace) == store.namespace(namespace)
        else:
            with pytest.raises(Invalid):
                reader.namespace(namespace)
    finally:
        store.close()


def test_blocks_of_the_store_are_read(tmp_path):
    store = LocalBlocks(tmp_path)
    store.put("local://sea/data/ü b", [b"one", b"two"])
    store.close()
    reader = LocalReader(tmp_path)
    for address in ("local://sea/data/ü b", f"local://{tmp_path}/sea/data/ü b"):
        assert reader.read(address) == b"onetwo"
        info = reader.stat(address)
        assert info is not None
        assert (info.address, info.size) == (address, 6)
    assert reader.stat("local://sea/data/none") is None
    assert reader.stat("local://sea/data/ü b/under-a-file") is None
    with pytest.raises(Gone):
        reader.read("local://sea/data/none")
    with pytest.raises(Invalid):
        reader.read("local://sea/../outside")


def test_reading_writes_no_file(tmp_path):
    reader = LocalReader(tmp_path / "missing")
    assert reader.accepts("local://sea")
    assert reader.stat("local://sea/data/a") is None
    assert list(tmp_path.iterdir()) == []
