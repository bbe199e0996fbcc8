"""Resolution of addresses of every kind to the collected namespace."""

from __future__ import annotations

import pyarrow as pa
import pytest

from anabranch.blocks.local.store import LocalBlocks
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.garbage.addresses.namespace import to_namespace

RELATIVE, FULL, BY_LOOKS = 1, 2, 0


def repository(namespace):
    return Repository(
        id="r", storage_namespace=namespace, default_branch="main", creation_date=0, instance_uid=""
    )


@pytest.fixture
def blocks(tmp_path):
    return LocalBlocks(tmp_path / "blocks")


def read(blocks, collected, reader, rows):
    resolver = to_namespace(repository(collected), blocks).resolver(repository(reader))
    kinds, addresses = zip(*rows, strict=True)
    resolved = resolver.resolve(pa.array(addresses), pa.array(kinds, pa.int32()))
    return sorted(name for _, column in resolved for name in column.to_pylist())


def test_addresses_of_the_collected_repository_are_resolved(blocks):
    root = blocks.qualify("local://sea")
    rows = [
        (RELATIVE, "data/a"),
        (RELATIVE, "data/x://y"),
        (BY_LOOKS, "data/b"),
        (BY_LOOKS, "local://sea/data/c"),
        (FULL, "local://sea/data/d"),
        (FULL, f"{root}/data/e"),
        (FULL, "local://seaside/data/f"),
        (BY_LOOKS, "s3://sea/data/g"),
        (FULL, "data/h"),
    ]
    expected = ["data/a", "data/b", "data/c", "data/d", "data/e", "data/x://y"]
    assert read(blocks, "local://sea", "local://sea/", rows) == expected
    assert read(blocks, "local://sea/", "local://sea", rows[:1]) == ["data/a"]


def test_addresses_of_an_enclosing_namespace_are_resolved(blocks):
    rows = [
        (RELATIVE, "data/a"),
        (RELATIVE, "in/data/b"),
        (RELATIVE, "inside/data/c"),
        (FULL, "local://sea/in/data/d"),
        (FULL, "in/data/e"),
    ]
    assert read(blocks, "local://sea/in", "local://sea", rows) == ["data/b", "data/d"]
    assert read(blocks, "local://sea/in", "local://se", rows) == ["data/d"]


def test_addresses_of_another_namespace_are_resolved(blocks):
    rows = [(RELATIVE, "data/a"), (FULL, "local://sea/data/b"), (FULL, "local://land/data/c")]
    assert read(blocks, "local://sea", "local://land", rows) == ["data/b"]
    assert read(blocks, "local://sea", "local://sea/in", rows) == ["data/b", "in/data/a"]
