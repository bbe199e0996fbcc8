"""Commits of trees that clients wrote: addresses are admitted as by staging."""

from __future__ import annotations

import pytest

from anabranch import _kernel as kernel
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Denied
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.objects.entry import AddressType
from anabranch.versioning.trees.tree_writers import WriteRecords

FULL, RELATIVE, BY_PREFIX = AddressType.FULL, AddressType.RELATIVE, AddressType.BY_PREFIX


@pytest.fixture
def lake(tmp_path):
    blocks = LocalBlocks(tmp_path / "blocks", external_prefixes=[str(tmp_path / "raw")])
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", "local:///a//sea/")
        yield lake


def written(lake, objects):
    """Writes a tree into the repository's store, as a client does that can write there; returns its
    id. The objects are (address, address type) by path.
    """
    records = [
        (path.encode(), kernel.encode_entry(address, kind, 0, 0, 1, "c", {}, ""))
        for path, (address, kind) in sorted(objects.items())
    ]
    repository = lake.core.repositories.get("sea")
    made = lake.core.trees.write(repository, WriteRecords(records))
    return made.metarange_id


def commit(lake, objects):
    return lake.commits.commit(
        *("sea", "main"), message="m", committer="c", source_metarange=written(lake, objects)
    )


GOOD = {f"{n:04}": (f"local://raw/{n % 7}/{n}", FULL) for n in range(300)}


def test_what_staging_admits_is_committed(lake, tmp_path):
    objects = {
        **GOOD,
        "relative": ("data/x/y", RELATIVE),
        "old": ("data/x/y", BY_PREFIX),
        "outside": (f"local://{tmp_path}/raw/a", FULL),
        "absolute": (lake.blocks.qualify("local://raw/a"), FULL),
        "dots": ("local://raw/.a", FULL),
    }
    made = commit(lake, objects)
    assert lake.commits.get("sea", "main") == made


@pytest.mark.parametrize(
    ("address", "kind", "reason"),
    [
        ("local:///etc/passwd", FULL, "outside the folders that imports may read"),
        ("s3://other/bucket", FULL, "of another store"),
        ("s3://other/bucket", BY_PREFIX, "of another store"),
        ("local://raw/..", FULL, "that no object of the store can have"),
        ("local://raw/0/../../../x", FULL, "that no object of the store can have"),
        ("../../../../etc/passwd", RELATIVE, "that no object of the store can have"),
        ("", RELATIVE, "that no object of the store can have"),
        ("nothing", FULL, "of another store"),
    ],
)
def test_another_address_is_refused(lake, address, kind, reason):
    before = lake.branches.get("sea", "main")
    with pytest.raises(Denied, match=f"forbidden: 0150x has an address {reason}") as caught:
        commit(lake, {**GOOD, "0150x": (address, kind)})
    assert caught.value.kind == "address_forbidden"
    assert lake.branches.get("sea", "main") == before


def test_what_the_head_has_stays(lake, tmp_path):
    """The settings allowed a folder earlier, and do not allow it now."""
    objects = {**GOOD, **{f"x{n}": (f"local://{tmp_path}/raw/{n}", FULL) for n in range(3)}}
    commit(lake, objects)
    lake.blocks.sources._prefixes = ()
    commit(lake, {**objects, "new": ("local://raw/new", FULL)})
    moved = {**objects, "x1": (f"local://{tmp_path}/raw/2", FULL)}
    with pytest.raises(Denied, match="forbidden: x1 has"):
        commit(lake, moved)
    with pytest.raises(Denied, match="forbidden: x9 has"):
        commit(lake, {**objects, "x9": (f"local://{tmp_path}/raw/2", FULL)})
