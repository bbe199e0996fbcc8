"""Addresses that an object of a branch may have: the store's own, and those that imports may read.

One rule for every way by which a client names an object that is stored already: staging by address,
listings, inventories, and trees that a client has written itself. The tables of commits are not
objects: they name every path and address of a repository, so no entry may refer to one.
"""

from __future__ import annotations

import re

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import TABLES, is_table_address
from anabranch.errors import Denied, Invalid

__all__ = [
    "admitted_address",
    "is_source",
    "refusal",
    "source_spellings",
    "spellings",
    "store_address",
]

IMPOSSIBLE = "an address that no object of the store can have"
_TABLE = "the address of a table of commits"


def admitted_address(blocks: BlockStore, address: str) -> str:
    """Returns an address as an entry keeps it: one of the store without its root, one of a file
    outside of the store as it is. Raises Invalid for an address that is neither, and for that of a
    table (kind table_address).
    """
    try:
        return store_address(blocks, address)
    except Invalid as error:
        if error.kind != "table_address" and _is_readable(blocks, address):
            return address
        raise


def store_address(blocks: BlockStore, address: str) -> str:
    """Returns an address of the store without its root. Raises Invalid for one outside of the
    store, and for that of a table (kind table_address).
    """
    if is_table_address(address):
        raise Invalid(
            f"{address}: {_TABLE}",
            kind="table_address",
            hint=f"The folder {TABLES}/ of a storage namespace has tables of commits, not objects.",
        )
    return blocks.unqualify(address)


def spellings(blocks: BlockStore, address: str) -> list[str]:
    """Returns the spellings of an address of the store that policies may use. Permission is checked
    for all of them, so that no spelling evades a policy.
    """
    stored = blocks.unqualify(address)
    return list(dict.fromkeys((stored, blocks.qualify(stored))))


def source_spellings(blocks: BlockStore, address: str) -> list[str]:
    """Returns the spellings of an address to import from, which may be a prefix: as written and, if
    it is in the store, those of `spellings`.
    """
    stem = address.rstrip("/")
    try:
        names = spellings(blocks, stem)
    except Invalid:
        return [address]
    slashes = address[len(stem) :]
    return list(dict.fromkeys((address, *(name + slashes for name in names))))


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
    if is_table_address(address):
        return _TABLE
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
