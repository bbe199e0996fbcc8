"""What must not be left in a folder when no process works in it, whatever happened before.

An object's bytes that no entry names, and a table that no commit names, are garbage for the
collector and no strays: they were stored before the entry or the commit could be.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from anabranch.blocks.local.store import LocalBlocks
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.library import DATABASE_FILE, Lake
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import keys

__all__ = ["strays"]

_BLOCK = re.compile(
    r"[^/]+/(data/[0-9a-v]{20}/[0-9a-v]{20}|_lakefs/([0-9a-f]{64}|dummy|refs_manifest\.json))"
)
_STAGING = re.compile(r".+-.+:[0-9a-f]{8}-[0-9a-f-]{27}")
"""How the partitions of staging areas are named."""


def strays(root: Path) -> list[str]:
    """Returns a line for each thing in a lake's folder that should not be there, an hour from now,
    after cleaning: staging areas that no branch has, sealed ones that the latest commit did not
    take in, commits that no reference leads to, what is kept of uploads that have ended, and
    unfinished files.
    """
    found, staged = [], set()
    with _in_an_hour(root) as lake:
        lake.core.cleaner.clean()
        lake.blocks.clean_temporaries(0)
        lake.uploads.clean()
        uploads = {key.decode() for key, _ in lake.keyvalue.scan(keys.UPLOADS)}
        for repository in lake.repositories.list(amount=1000).items:
            for branch in _branches(lake, repository):
                staged |= set(branch.tokens)
                found += [f"sealed: {token}" for token in branch.sealed_tokens]
            found += [f"dangling commit: {commit}" for commit in _dangling(lake, repository)]
    partitions = set(_partitions(root))
    left = {name for name in partitions - staged if _STAGING.fullmatch(name)}
    found += [f"staging area of no branch: {token}" for token in sorted(left)]
    ended = {name for name in partitions if name.startswith(keys.UPLOADS)} - {
        keys.UPLOADS,
        *map(keys.upload_parts, uploads),
    }
    found += [f"upload that has ended: {name}" for name in sorted(ended)]
    return found + [f"unfinished: {path}" for path in _unfinished(root / "block", uploads)]


def _in_an_hour(root: Path) -> Lake:
    return Lake(
        SQLiteStore(root / "metadata" / DATABASE_FILE),
        LocalBlocks(root / "block", clock=_an_hour_from_now),
        cache_folder=root / "cache",
        signing_secret=b"",
        clock=_an_hour_from_now,
    )


def _an_hour_from_now() -> float:
    return time.time() + 3600


def _branches(lake: Lake, repository: Repository) -> list[Branch]:
    page = lake.core.branches.list(repository, amount=10_000, show_hidden=True)
    assert not page.has_more
    return list(page.items)


def _partitions(root: Path) -> Iterator[str]:
    """Yields the partitions that hold anything. No process may have the store open."""
    database = root / "metadata" / DATABASE_FILE
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        for (partition,) in connection.execute("SELECT DISTINCT partition FROM kv"):
            yield partition


def _dangling(lake: Lake, repository: Repository) -> set[str]:
    """Returns the commits that no branch and no tag leads to."""
    start, end = b"commits/", b"commits0"
    keys = lake.keyvalue.scan(repository.partition, start, end)
    stored = {key.removeprefix(start).decode() for key, _ in keys}
    todo = [branch.commit_id for branch in _branches(lake, repository)]
    todo += [tag.commit_id for tag in lake.core.tags.list(repository, amount=10_000).items]
    while todo:
        commit = todo.pop()
        if commit in stored:
            stored.remove(commit)
            todo += lake.core.commits.get(repository, commit).parents
    return stored


def _unfinished(blocks: Path, uploads: set[str]) -> Iterator[str]:
    for path in blocks.rglob("*"):
        name = str(path.relative_to(blocks))
        if path.is_file() and not _BLOCK.fullmatch(name) and path.parent.name not in uploads:
            yield name
