"""Integrity checks of an entry's bytes by what is known on this machine."""

from __future__ import annotations

from anabranch.blocks.checked_reads import CheckedReads
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.etag_pinned_reads import PinnedRead, pinned_etag
from anabranch.catalog.objects.own_checksums import own_md5
from anabranch.errors import Gone, Invalid
from anabranch.model.objects.entry import Entry

__all__ = ["checked_reads", "require_bytes"]


def checked_reads(
    blocks: BlockStore, entry: Entry, namespace: str, start: int, length: int
) -> CheckedReads | None:
    """Returns the reader that compares the bytes of an entry with their MD5, None if they are read
    without it: a part of the bytes, or bytes whose MD5 is unknown. Raises Gone if the bytes were
    found damaged before.
    """
    checked = blocks.checked
    if checked is None:
        return None
    whole = not start and length == entry.size and length <= checked.up_to_bytes
    if not (whole or checked.found_damage) or not (md5 := own_md5(entry)):
        return None
    if whole:
        return checked
    checked.require(f"{namespace.rstrip('/')}/{entry.address}", entry.size, md5)
    return None


def require_bytes(blocks: BlockStore, entry: Entry, address: str) -> None:
    """Raises Gone if bytes of an entry are missing, truncated, replaced or known to be damaged.
    Sends no request to other machines and reads no byte.
    """
    checked = blocks.checked
    if checked is None or not entry.size:
        return
    if md5 := own_md5(entry):
        checked.require(address, entry.size, md5)
    elif etag := pinned_etag(entry):
        PinnedRead(blocks, address, etag).check()
    else:
        _require_size(blocks, address, entry.size)


def _require_size(blocks: BlockStore, address: str, size: int) -> None:
    try:
        info = blocks.stat(address)
    except Invalid:
        return  # the address belongs to another store
    if info is None:
        raise Gone(f"{address}: there is no data", kind="data_missing")
    if info.size < size:
        raise Gone(f"{address}: the data ends at byte {info.size}", kind="data_missing")
