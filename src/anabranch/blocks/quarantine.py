"""What a block store can do that removes blocks so that they can be brought back for a time.

A local folder renames a block to a place that has no address; a versioned bucket keeps the removed
version. What is needed to bring a block back is a `Removal`, which the caller writes down before
the block is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

__all__ = ["Outcome", "Quarantine", "Removal"]

Outcome = Literal["restored", "present", "replaced", "gone"]
"""What became of a block that was to be restored: it is `restored`; it was `present` already, or
never removed; another block has `replaced` it at its address; its data are `gone`.
"""


class Removal(NamedTuple):
    """A block that is removed or about to be. Its address is `stem`, the address of a storage
    namespace with a slash at its end, and `name`. `batch`, two names with a slash between them, is
    of no other removal of the name. `version` is the store's own id of the bytes, empty where it
    has none.
    """

    stem: str
    name: str
    batch: str
    version: str = ""

    @property
    def address(self) -> str:
        """The full address of the block."""
        return self.stem + self.name


class Quarantine(Protocol):
    """Removal and restoration of blocks. All methods may be repeated after a failure at any point;
    they raise what the store's other methods do.
    """

    def require(self, stem: str) -> None:
        """Raises NotSupported if blocks below an address cannot be brought back."""

    def size_and_version(self, address: str) -> tuple[int, str] | None:
        """Returns the size in bytes of the block at an address, and the id of its version; None if
        there is none.
        """

    def remove(self, removals: Sequence[Removal]) -> None:
        """Removes blocks, durably; those that are not there are passed over."""

    def restore(self, removal: Removal) -> Outcome:
        """Restores a block to its address, durably. Another block at the address is kept."""

    def purge(self, removal: Removal, before: float) -> int | None:
        """Removes the data of a removed block for good; returns how many bytes that were, None
        if there was nothing to remove. A block that is at its address is kept, as is one that was
        removed again at or after `before`, in seconds since 1970 by the store's clock.
        """
