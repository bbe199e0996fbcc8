"""The second look at single entries: whether the store has the object, its size, its bytes."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.own_checksums import own_md5
from anabranch.errors import Gone, Invalid
from anabranch.model.objects.entry import Entry
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.stores.entries import Entries, RangeSource, Source
from anabranch.pipelines.verification.stores.needed_objects import ELSEWHERE

__all__ = ["CHECK", "Probe", "ProbeResult", "probe", "probe_of"]

CHECK = "objects"


class Probe(NamedTuple):
    """An entry to look at: where it is, the full address of its object, and its mark."""

    source: Source
    entry: Entry
    path: str
    address: str
    mark: int


class ProbeResult(NamedTuple):
    """A finding, if the source needs the object still; how many bytes were read and compared, None
    if the object was only looked up.
    """

    probe: Probe
    finding: Finding | None = None
    read: int | None = None


def probe(blocks: BlockStore, looked_at: Probe, *, reads: bool) -> ProbeResult:
    """Looks at an object, and compares its bytes if `reads`, and if their MD5 is known."""
    entry, address = looked_at.entry, looked_at.address
    try:
        info = blocks.stat(address)
    except Invalid:
        if looked_at.mark == ELSEWHERE:
            return ProbeResult(looked_at)  # of a store that this one cannot read
        info = None
    if info is None:
        return _found(looked_at, "object_missing", "the object is missing")
    if info.size != entry.size:
        message = f"the object has {info.size:,} bytes, and must have {entry.size:,}"
        return _found(looked_at, "object_size", message)
    md5 = own_md5(entry)
    return _compare(blocks, looked_at, md5) if reads and md5 else ProbeResult(looked_at)


def _compare(blocks: BlockStore, looked_at: Probe, md5: str) -> ProbeResult:
    digest = hashlib.md5(usedforsecurity=False)
    read = 0
    try:
        for piece in blocks.get(looked_at.address):
            digest.update(piece)
            read += len(piece)
    except Gone:
        return _found(looked_at, "object_missing", "the object is missing")
    if digest.hexdigest() != md5:
        message = f"the MD5 of the object is {digest.hexdigest()}, and must be {md5}"
        return _found(looked_at, "object_damaged", message)
    return ProbeResult(looked_at, None, read)


def _found(looked_at: Probe, kind: str, message: str) -> ProbeResult:
    source = looked_at.source
    where = f"range {source.info.id}" if isinstance(source, RangeSource) else source.owner
    subject = f"{source.repository.id} {looked_at.path}"
    text = f"{message}: {looked_at.address}, which {where} needs"
    return ProbeResult(looked_at, Finding(CHECK, kind, subject, text))


def probe_of(source: Source, entries: Entries, row: int, mark: int) -> Probe:
    """Returns the probe of a row of entries."""
    entry = Entry(
        address=entries.stored[row].as_py(),
        address_type=entries.kinds[row].as_py(),
        size=entries.sizes[row].as_py(),
        mtime=0,
        checksum=entries.checksums[row].as_py(),
    )
    return Probe(source, entry, entries.paths[row].as_py(), entries.addresses[row].as_py(), mark)
