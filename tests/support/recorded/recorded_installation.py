"""The installation that a real lakeFS 1.84 recorded: a storage namespace, a dump of references, and
what a repository holds when the dump is restored.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

from anabranch.library import Lake
from anabranch.model.repositories.refs_dump import RefsDump

__all__ = ["DUMP", "DUMP_FILE", "MANIFEST", "check_restored", "read_dump", "stored_refs", "unpack"]


def read_dump(path: Path) -> RefsDump:
    """Returns the body of a restore of references."""
    ids = json.loads(path.read_text(encoding="utf-8"))
    return RefsDump(
        commits=ids["commits_meta_range_id"],
        branches=ids["branches_meta_range_id"],
        tags=ids["tags_meta_range_id"],
    )


_DATA = Path(__file__).parents[2] / "data" / "lakefs-1.84" / "installation"

DUMP_FILE = _DATA / "refs-dump.json"
MANIFEST: dict[str, Any] = json.loads(gzip.decompress((_DATA / "manifest.json.gz").read_bytes()))
DUMP = read_dump(DUMP_FILE)


def unpack(blocks: Path, *, objects: bool = True) -> Path:
    """Unpacks the storage namespace `local://sea` into a folder of blocks, without `objects` only
    its tables. Returns the folder of tables.
    """
    with tarfile.open(_DATA / "namespace.tar.gz") as archive:
        members = [each for each in archive if objects or "/data/" not in f"/{each.name}/"]
        archive.extractall(blocks, members, filter="data")
    return blocks / "sea" / "_lakefs"


def check_restored(lake: Lake, repository: str) -> None:
    """Asserts that a repository's references, commits and objects are those of the manifest."""
    branches = lake.branches.list(repository, amount=1000, show_hidden=True).items
    tags = lake.tags.list(repository, amount=1000).items
    assert {each.id: each.commit_id for each in branches} == _commit_ids("branches")
    assert {each.id: each.commit_id for each in tags} == _commit_ids("tags")
    stored = lake.core.repositories.get(repository)
    assert {commit.id for commit in lake.core.commits.all(stored)} == set(MANIFEST["commits"])
    for ref, expected in [*MANIFEST["branches"].items(), *MANIFEST["tags"].items()]:
        if "log" in expected:
            log = lake.commits.log(repository, ref, amount=1000).items
            assert [commit.id for commit in log] == expected["log"]
        listed = dict(lake.core.objects.entries(stored, ref))
        assert listed.keys() == {each["path"] for each in expected["committed"]}
        for each in expected["committed"]:
            entry = listed[each["path"]]
            assert (entry.checksum, entry.size) == (each["checksum"], each["size_bytes"])
            content = lake.objects.open(repository, ref, each["path"]).read_bytes()
            assert hashlib.sha256(content).hexdigest() == each["sha256"]


def stored_refs(lake: Lake, repository: str) -> list[tuple[bytes, bytes]]:
    """Returns the records of a repository's branches, commits and tags."""
    partition = lake.core.repositories.get(repository).partition
    bounds = [(b"branches/", b"branches0"), (b"commits/", b"commits0"), (b"tags/", b"tags0")]
    return [row for start, end in bounds for row in lake.keyvalue.scan(partition, start, end)]


def _commit_ids(kind: str) -> dict[str, str]:
    return {name: expected["commit_id"] for name, expected in MANIFEST[kind].items()}
