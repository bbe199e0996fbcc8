"""Where things lie in the key-value store: lakeFS's own layout of partitions and keys."""

from __future__ import annotations

__all__ = [
    "CLEANUP",
    "GRAVELER",
    "METADATA",
    "PROTECTION",
    "all_branches",
    "all_commits",
    "all_tags",
    "branch",
    "commit",
    "repository",
    "tag",
]

GRAVELER = "graveler"
CLEANUP = "cleanup-tokens"
METADATA = b"repo-metadata"
PROTECTION = b"settings/protected_branches"


def repository(name: str) -> bytes:
    """Returns the key of a repository in the partition GRAVELER."""
    return b"repos/" + name.encode()


def branch(name: str) -> bytes:
    """Returns the key of a branch in its repository's partition."""
    return b"branches/" + name.encode("utf-8", "surrogateescape")


def tag(name: str) -> bytes:
    """Returns the key of a tag in its repository's partition."""
    return b"tags/" + name.encode("utf-8", "surrogateescape")


def commit(commit_id: str) -> bytes:
    """Returns the key of a commit in its repository's partition."""
    return b"commits/" + commit_id.encode("utf-8", "surrogateescape")


def all_branches() -> tuple[bytes, bytes]:
    """Returns the bounds of the branches' keys."""
    return b"branches/", b"branches0"


def all_tags() -> tuple[bytes, bytes]:
    """Returns the bounds of the tags' keys."""
    return b"tags/", b"tags0"


def all_commits() -> tuple[bytes, bytes]:
    """Returns the bounds of the commits' keys."""
    return b"commits/", b"commits0"
