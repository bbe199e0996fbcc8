"""Addresses that an object of a branch may have: the store's own, and those that imports may read.

One rule for every way by which a client names an object that is stored already: staging by address,
listings, inventories, and trees that a client has written itself.
"""

from __future__ import annotations

import re

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Denied, Invalid

__all__ = ["admitted_address", "is_source", "refusal"]

IMPOSSIBLE = "an address that no object of the store can have"


def admitted_address(blocks: BlockStore, address: str) -> str:
    """Returns an address as an entry keeps it: one of the store without its root, one of a file
    outside of the store as it is. Raises Invalid for an address that is neither.
    """
    try:
        return blocks.unqualify(address)
    except Invalid:
        if _is_readable(blocks, address):
            return address
        raise


def is_source(blocks: BlockStore, address: str) -> bool:
    """Returns whether an address is outside of the store and imports may read it."""
    if not _is_readable(blocks, address):
        return False
    try:
        blocks.unqualify(address)
    except Invalid:
        return True
    return False


def refusal(blocks: BlockStore, address: str) -> str:
    """Returns what an address is that `admitted_address` refuses, as a phrase for people."""
    if re.search(blocks.config.namespace_validity_regex, address) is None:
        return "an address of another store"
    if blocks.sources is not None:
        try:
            blocks.sources.check(address)
        except Denied:
            return "an address outside the folders that imports may read"
        except Invalid:
            pass
    return IMPOSSIBLE


def _is_readable(blocks: BlockStore, address: str) -> bool:
    """Returns whether an address is that of a file, not a folder, that imports may read."""
    sources = blocks.sources
    return sources is not None and sources.owns(address) and not address.endswith("/")
