"""Proof that Anabranch generated the address of an object's bytes.

Anabranch and lakeFS store bytes at addresses of one form, `data/PARTITION/XID`. In Anabranch's
entries with such an address, a checksum in the form of an MD5 is the MD5 of the bytes. In lakeFS's
it may be the ETag of a multipart upload up to its `-`, which only looks like an MD5. The two xids
of an address distinguish the systems. Each ends in a counter of 24 bits. An xid takes the next
number of its process; the partition is a descending xid, for which Anabranch uses the negative of
the number and lakeFS the number itself. So in addresses of Anabranch the sum of both counters is
small, in those of lakeFS their difference.

`clear_start` prevents addresses for which both hold, so that each new one can be proved.
"""

from __future__ import annotations

import re

__all__ = ["PARTITION_SPAN", "clear_start", "is_generated"]

PARTITION_SPAN = 1 << 17
"""The numbers that a process uses up at most while its addresses have one partition."""

_FOREIGN_SPAN = 1 << 18
"""The same for other systems, with a margin: proofs must be true."""
_COUNTERS = 1 << 24
_MIDDLE = _COUNTERS // 2
_SPARE_BITS = 4
"""The bits of an xid's last character that are not part of its 96 bits."""
_PROCESS_AND_COUNTER = (1 << 64) - 1
_LENGTH = 46
"""The length of a relative address."""
_ADDRESS = re.compile(r"data/[0-9a-v]{6}([0-9a-v]{14})/[0-9a-v]{6}([0-9a-v]{14})")
"""The last 14 characters of an xid have its process and its counter."""


def is_generated(address: str) -> bool:
    """Returns whether it is certain that Anabranch generated a full or relative address and stored
    the bytes there. False for addresses given to clients, which end in a token.
    """
    match = _ADDRESS.fullmatch(address, max(len(address) - _LENGTH, 0))
    if match is None or (len(address) > _LENGTH and address[-_LENGTH - 1] != "/"):
        return False
    partition = int(match[1], 32) >> _SPARE_BITS & _PROCESS_AND_COUNTER
    xid = int(match[2], 32) >> _SPARE_BITS & _PROCESS_AND_COUNTER
    if partition // _COUNTERS != xid // _COUNTERS:
        return False
    used = (partition + xid) % _COUNTERS
    return 0 < used <= PARTITION_SPAN and (xid - partition) % _COUNTERS > _FOREIGN_SPAN


def clear_start(number: int) -> int:
    """Returns the number from which a process may take the number of a new partition: `number`, or
    a later one if addresses of its partition could be another system's. A later one is larger by
    more than PARTITION_SPAN.
    """
    margin = _FOREIGN_SPAN
    position = number % _MIDDLE
    if margin <= position < _MIDDLE - margin:
        return number
    return number + (2 * margin - position) % _MIDDLE
