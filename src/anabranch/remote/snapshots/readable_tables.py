"""Tables of the objects that a user may read, made on this machine from the server's listing.

The tables of a commit name all of its objects. Who may not read each of them gets none of these
tables, but the listing, which leaves out what is hidden.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch import _kernel as kernel
from anabranch.client.rest_client import RestClient
from anabranch.lake.paging import all_items
from anabranch.model.names import encode_path
from anabranch.model.objects.entry import Entry
from anabranch.model.objects.entry_records import Value
from anabranch.model.objects.stat import Stat
from anabranch.model.page import MAX_AMOUNT
from anabranch.remote.calls import objects

__all__ = ["write_readable_tree"]


def write_readable_tree(
    client: RestClient, repository: str, commit_id: str, folder: str
) -> kernel.Written:
    """Writes the tree of the objects of a commit that the user may read to a folder."""
    empty = kernel.Tables().tree(kernel.EMPTY_TREE_ID, lambda table_id: f"{folder}/{table_id}")
    return empty.apply(_rows(client, repository, commit_id), folder)


def _rows(client: RestClient, repository: str, commit_id: str) -> Iterator[tuple[bytes, Value]]:
    listed = all_items(
        lambda after: objects.listing(repository, commit_id, after=after, amount=MAX_AMOUNT).run(
            client
        )
    )
    for item in listed:
        if isinstance(item, Stat):
            yield encode_path(item.path), _record(item.entry)


def _record(entry: Entry) -> Value:
    return kernel.encode_entry(
        entry.address,
        entry.address_type,
        entry.mtime,
        0,
        entry.size,
        entry.checksum,
        entry.metadata,
        entry.content_type,
    )
