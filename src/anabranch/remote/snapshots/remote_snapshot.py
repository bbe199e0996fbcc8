"""How a snapshot of a commit on a server is made."""

from __future__ import annotations

import msgspec

from anabranch.client.rest_client import RestClient
from anabranch.lake.snapshots.full_addresses import FullAddresses
from anabranch.lake.snapshots.snapshot import Snapshot
from anabranch.remote.call import Exchange, Reply, read
from anabranch.remote.snapshots.cache_settings import CacheSettings
from anabranch.remote.snapshots.source import PinnedCommit, RemoteSource
from anabranch.remote.wire import WireCommit

__all__ = ["make_snapshot"]


class _WireTables(msgspec.Struct, frozen=True):
    storage_namespace: str
    local_root: str


class _WireSnapshot(msgspec.Struct, frozen=True):
    commit: WireCommit
    tables: _WireTables | None
    presigned: bool = False


_SNAPSHOT = msgspec.json.Decoder(_WireSnapshot)


def make_snapshot(
    client: RestClient, cache: CacheSettings, repository: str, reference: str
) -> Snapshot:
    """Returns a snapshot of the commit that a reference names, of the objects that the user may
    read. Raises NotFound, and Invalid for a staging area.
    """
    request = read(["repositories", repository, "refs", reference, "snapshot"])
    found = Exchange(request, _decode).run(client)
    commit, tables = found.commit.commit(), found.tables
    addresses = None if tables is None else FullAddresses(*msgspec.structs.astuple(tables))
    pinned = PinnedCommit(repository, commit.id, commit.metarange_id, addresses, found.presigned)
    return Snapshot(RemoteSource(client, cache, pinned), repository, reference, commit)


def _decode(reply: Reply) -> _WireSnapshot:
    return _SNAPSHOT.decode(reply.body)
