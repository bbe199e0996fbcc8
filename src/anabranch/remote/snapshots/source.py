"""The tree of a commit on a server, and the bytes of its objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

from anabranch import _kernel as kernel
from anabranch.client.rest_client import CHUNK, RestClient
from anabranch.client.transport import TransportError
from anabranch.errors import Busy, Corrupt, Gone, NotFound
from anabranch.lake.snapshots.full_addresses import FullAddresses
from anabranch.lake.snapshots.source import NamedEntry
from anabranch.model.objects.entry import Entry
from anabranch.model.objects.stat import Stat
from anabranch.remote.call import read
from anabranch.remote.reads import PresignedReads, Reads
from anabranch.remote.remote_object import RemoteObject
from anabranch.remote.snapshots.batches import LARGE, batches, read_batch
from anabranch.remote.snapshots.cache_settings import CacheSettings
from anabranch.remote.snapshots.readable_tables import write_readable_tree
from anabranch.remote.snapshots.table_files import TableFiles

__all__ = ["PinnedCommit", "RemoteSource"]

P = ParamSpec("P")
T = TypeVar("T")

_POOL = kernel.Tables()
"""Tables are named by their content, so all snapshots of a process share those that are open."""

_MAX_REPAIRS = 3


class PinnedCommit(NamedTuple):
    """A commit of a repository; `addresses` is None for a user who may not read its tables. Its
    store is read by presigned addresses if it is `presigned`.
    """

    repository: str
    id: str
    metarange_id: str
    addresses: FullAddresses | None
    presigned: bool = False


class RemoteSource:
    """The objects of a commit on a server that the user may read. May be pickled: a copy opens the
    same cache.
    """

    def __init__(self, client: RestClient, cache: CacheSettings, commit: PinnedCommit) -> None:
        self._client = client
        self._reads: Reads = PresignedReads(client) if commit.presigned else client
        self._cache = cache
        self._commit = commit
        self._files = TableFiles(cache)
        metarange_id, locate = commit.metarange_id, self._locate
        if commit.addresses is None:
            metarange_id, locate = self._write_readable(), self._locate_readable
        self.tree: kernel.Tree = self.read(_POOL.tree, metarange_id, locate)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._client, self._cache, self._commit)

    def read(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls a function that reads tables; a file of the cache that is damaged, or that was
        evicted before it was opened, is fetched again.
        """
        for _ in range(_MAX_REPAIRS):
            try:
                return call(*args, **kwargs)
            except kernel.MissingTable:
                continue
            except kernel.CorruptTable as error:
                table_id = os.path.basename(error.path)  # noqa: PTH119  the name alone
                self._files.repair(table_id)
                _POOL.forget(table_id)
        try:
            return call(*args, **kwargs)
        except kernel.MissingTable as error:
            raise Busy(
                f"the cached table {error.path} is removed again and again",
                hint="Give the cache more space, or a folder of its own.",
            ) from error
        except kernel.CorruptTable as error:
            raise Corrupt(
                f"the table {error.path} is damaged: {error.reason}", path=error.path
            ) from error

    def address(self, entry: Entry) -> str:
        """Returns the full address of an object's bytes."""
        addresses = self._commit.addresses
        return entry.address if addresses is None else addresses.of(entry)

    def open(self, path: str, entry: Entry) -> RemoteObject:
        """Returns an object, open for reading, by ranges of the commit's version."""
        commit = self._commit
        request = read(["repositories", commit.repository, "refs", commit.id, "objects"], path=path)
        stat = Stat(path, entry, self.address(entry))
        is_small = entry.size < LARGE  # an address would be a request more
        return RemoteObject(self._client if is_small else self._reads, request, stat, b"")

    def read_many(self, objects: Sequence[NamedEntry]) -> Iterator[bytes]:
        """Yields the bytes of objects, in order: small ones many at a time."""
        commit = self._commit
        for group in batches(objects):
            path, entry = group[0]
            if len(group) == 1 and entry.size >= LARGE:
                yield self.open(path, entry).read_bytes()
            else:
                yield from read_batch(self._client, commit.repository, commit.id, group)

    def _locate(self, table_id: str) -> str:
        try:
            return self._files.locate(table_id, partial(self._download, self._reads))
        except Corrupt:
            if self._reads is self._client:
                raise
        # others may have answered in place of the store, such as a proxy that wants a login
        return self._files.locate(table_id, partial(self._download, self._client))

    def _download(self, reads: Reads, table_id: str) -> Iterable[bytes]:
        segments = ["repositories", self._commit.repository, "metadata", "object", "range"]
        request = read([*segments, table_id])
        try:
            response = reads.exchange(request)
        except NotFound as error:
            raise Gone(
                f"the table {table_id} of the commit {self._commit.id} is not there any more",
                kind="metadata_missing",
                hint="The commit was removed meanwhile: make a snapshot of another one.",
            ) from error
        with response:
            try:
                yield from response.chunks(CHUNK)
            except TransportError as error:
                raise self._client.transport_error(request, error) from error

    def _write_readable(self) -> str:
        """Returns the id of a tree of what the user may read, whose tables are in the cache."""
        commit = self._commit
        return self._files.add(
            lambda folder: write_readable_tree(self._client, commit.repository, commit.id, folder)
        ).metarange_id

    def _locate_readable(self, table_id: str) -> str:
        path = self._files.find(table_id)
        if path is None:  # it was evicted
            self._write_readable()
            path = self._files.find(table_id)
        if path is None:
            raise Gone(
                f"the objects of {self._commit.id} that may be read have changed",
                kind="metadata_missing",
                hint="Your rights were changed meanwhile: make the snapshot again.",
            )
        return path
