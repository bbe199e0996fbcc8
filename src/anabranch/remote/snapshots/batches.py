"""Reads of many objects of a commit, whose sizes are known, by requests for as many as fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from anabranch.client.rest_client import RestClient
from anabranch.errors import AnabranchError, Gone
from anabranch.lake.snapshots.source import NamedEntry
from anabranch.model.objects.batch import MAX_BATCH_OBJECTS
from anabranch.remote.calls.contents import read_frames

__all__ = ["LARGE", "batches", "read_batch"]

LARGE = 1 << 20
"""Objects of this size and larger are read by a request of their own, in bytes."""

_BATCH_BYTES = 16 << 20


def batches(objects: Iterable[NamedEntry]) -> Iterator[list[NamedEntry]]:
    """Yields the objects in groups that one request can read; a large one alone."""
    group: list[NamedEntry] = []
    size = 0
    for each in objects:
        is_large = each.entry.size >= LARGE
        is_full = len(group) == MAX_BATCH_OBJECTS or size + each.entry.size > _BATCH_BYTES
        if group and (is_large or is_full):
            yield group
            group, size = [], 0
        if is_large:
            yield [each]
            continue
        group.append(each)
        size += each.entry.size
    if group:
        yield group


def read_batch(
    client: RestClient, repository: str, commit_id: str, objects: Sequence[NamedEntry]
) -> Iterator[bytes]:
    """Yields the bytes of objects, in order. Raises Gone for bytes that are lost, Busy for a server
    that cannot be reached.
    """
    segments = ["repositories", repository, "refs", commit_id, "objects"]
    frames = read_frames(client, segments, [each.path for each in objects])
    for frame, (path, entry) in zip(frames, objects, strict=True):
        content = frame.result(path)
        if isinstance(content, AnabranchError):
            raise content
        if len(content) != entry.size:
            raise Gone(f"the bytes of {path!r} are lost or damaged")
        yield content
