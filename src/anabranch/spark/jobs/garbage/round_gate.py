"""The gate of a round, which tells the driver whether attempts at tasks may still remove objects.

Spark may start several attempts at a task, and one that it has given up may still be running. If
it moved an object into quarantine after the round, it would undo a restoration. Each attempt
therefore enters the gate before it removes anything: it writes a file, and then looks for the file
`open`. At the end of the round, the driver removes `open`, and then lists the files of attempts.
Either the attempt finds the gate closed, or the driver finds the attempt.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore

__all__ = ["RoundGate"]

_OPEN = "open"


class RoundGate(NamedTuple):
    """The gate whose files have addresses that begin with `prefix`. It can be pickled."""

    prefix: str

    @classmethod
    def open(cls, blocks: BlockStore, prefix: str) -> RoundGate:
        """Opens a new gate, whose files are in a folder of their own below `prefix`."""
        gate = cls(f"{prefix}{secrets.token_hex(8)}/")
        blocks.put(gate.prefix + _OPEN, [b"-"])
        return gate

    def enter(self, blocks: BlockStore) -> str:
        """Returns the name of a new attempt; an empty text if the gate is closed."""
        name = secrets.token_hex(8)
        blocks.put(self.prefix + name, [b"-"])
        if blocks.stat(self.prefix + _OPEN) is not None:
            return name
        blocks.delete([self.prefix + name])
        return ""

    def close(self, blocks: BlockStore, ended: Collection[str]) -> bool:
        """Closes the gate and removes its files. Returns whether the attempts that have `ended` are
        all that have entered.
        """
        blocks.delete([self.prefix + _OPEN])
        entered = [block.address for block in blocks.list(self.prefix)]
        blocks.delete(entered)
        return {address.removeprefix(self.prefix) for address in entered} <= set(ended)
