"""The check of the addresses in a tree that a client has written.

The admitted addresses are those that staging by address admits. Only ranges that the head's tree
does not have are read, and one address of each folder in them is checked; if it is rejected, all
addresses are. An object may keep a rejected address if the head has it at the same path: objects
committed under earlier settings do not prevent a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anabranch import _kernel as kernel
from anabranch.blocks.admitted_addresses import admitted_address, refusal
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Denied, Invalid
from anabranch.model.entry import physical_address
from anabranch.model.names import decode_key
from anabranch.model.repository import Repository
from anabranch.versioning.records.entries import Value, entry_from
from anabranch.versioning.trees import Trees

__all__ = ["TreeAddresses"]

_PAGE_SIZE = 10_000


class TreeAddresses:
    """Checks the addresses of the objects in trees."""

    def __init__(self, blocks: BlockStore, trees: Trees) -> None:
        self._blocks = blocks
        self._trees = trees

    def require_admitted(self, repository: Repository, head: str, metarange_id: str) -> None:
        """Raises Denied (kind address_forbidden) if a tree has an object that the tree `head` does
        not have, with an address that no object of the repository may have; Gone and Corrupt for
        lost and damaged tables.
        """
        head_tree = self._trees.open(repository, head)
        head_ranges = {table.id for table in self._trees.read(head_tree.ranges)}
        self._check_ranges(repository, head_tree, metarange_id, head_ranges)

    def require_all_admitted(
        self, repository: Repository, metarange_ids: Iterable[str], advance: Callable[[int], None]
    ) -> None:
        """Raises as `require_admitted` does for any object of these trees. Ranges that several
        trees have are read once. `advance` is called with the number of trees checked.
        """
        no_head = self._trees.open(repository, kernel.EMPTY_TREE_ID)
        checked: set[str] = set()
        for metarange_id in metarange_ids:
            self._check_ranges(repository, no_head, metarange_id, checked)
            advance(1)

    def _check_ranges(
        self, repository: Repository, head_tree: kernel.Tree, metarange_id: str, checked: set[str]
    ) -> None:
        """Checks the ranges of a tree that are not among the `checked` ones, and adds them."""
        tree = self._trees.open(repository, metarange_id)
        namespace = self._blocks.namespace(repository.storage_namespace)
        start = b""
        for table in self._trees.read(tree.ranges):
            last = table.max_key
            if table.id not in checked and not self._admits(tree, namespace, start, last):
                self._check_each(head_tree, tree, namespace, start, last)
            checked.add(table.id)
            start = last

    def _admits(self, tree: kernel.Tree, namespace: str, start: bytes, last: bytes) -> bool:
        """Returns whether the objects of a tree after the key `start` and up to `last` may have
        their addresses; checks one object of each folder.
        """
        after: bytes | None = start
        while after is not None:
            addresses, after = self._trees.read(
                tree.addresses, after=after, last=last, amount=_PAGE_SIZE
            )
            for _, address, kind in addresses:
                text = address.decode("utf-8", "surrogateescape")
                try:
                    admitted_address(self._blocks, physical_address(namespace, text, kind))
                except Invalid:
                    return False
        return True

    def _check_each(
        self, head_tree: kernel.Tree, tree: kernel.Tree, namespace: str, start: bytes, last: bytes
    ) -> None:
        """Raises Denied for the first object in that range of keys that has a rejected address,
        unless it has the same address in the head's tree.
        """
        after = start
        while after < last:
            rows = self._trees.read(_list_page, tree, after)
            for key, value in rows:
                if key > last or value is None:  # never None: there are no common prefixes
                    return
                entry = entry_from(value)
                address = physical_address(namespace, entry.address, entry.address_type)
                try:
                    admitted_address(self._blocks, address)
                except Invalid as error:
                    previous = self._trees.read(head_tree.get, key)
                    if previous is not None and entry_from(previous).address == entry.address:
                        continue
                    reason = refusal(self._blocks, address)
                    raise Denied(
                        f"forbidden: {decode_key(key)} has {reason}: {address}",
                        kind="address_forbidden",
                        hint=error.message,
                    ) from error
            after = rows[-1][0] if rows else last


def _list_page(tree: kernel.Tree, after: bytes) -> list[tuple[bytes, Value | None]]:
    page = tree.listing(after=after, amount=_PAGE_SIZE)
    page.feed([], last=True)
    return page.rows()
