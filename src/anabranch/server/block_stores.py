"""The block store that the settings ask for, opened."""

from __future__ import annotations

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local import LocalBlocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.server.settings import Blockstore

__all__ = ["open_blocks"]


def open_blocks(blockstore: Blockstore) -> BlockStore:
    """Returns the store. Raises what the store raises."""
    if blockstore.type == "mem":
        return MemoryBlocks()
    return LocalBlocks(blockstore.local.path)
