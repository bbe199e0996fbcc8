"""The check of the addresses in a tree that a client has written.

The admitted addresses are those that staging by address admits, and that the client may import:
otherwise a tree would make any object of the store readable. Only ranges that the head's tree does
not have are read, and one address of each folder in them is checked; if it is rejected, all
addresses are. An object may keep a rejected address if the head has it at the same path: objects
committed under earlier settings, or by others, do not prevent a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from anabranch import _kernel as kernel
from anabranch.blocks.admitted_addresses import admitted_address, refusal
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import table_address
from anabranch.errors import Denied, Gone, Invalid
from anabranch.model.names import decode_key
from anabranch.model.objects.entry import Entry, physical_address, relative_address
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records.entries import Value, entry_from
from anabranch.versioning.trees.trees import Trees

__all__ = ["Importable", "TreeAddresses"]

_PAGE_SIZE = 10_000


class Importable(Protocol):
    """Addresses of the store that a client may import."""

    def admit_below(self, folder: str) -> bool:
        """Returns whether all addresses below a folder may be imported."""

    def require(self, address: str) -> None:
        """Raises Denied unless an address may be imported."""


class TreeAddresses:
    """Checks the addresses of the objects in trees."""

    def __init__(self, blocks: BlockStore, trees: Trees) -> None:
        self._blocks = blocks
        self._trees = trees

    def require_admitted(
        self,
        repository: Repository,
        head: str,
        metarange_id: str,
        importable: Importable | None = None,
    ) -> None:
        """Raises Denied (kind address_forbidden) if a tree has an object that the tree `head` does
        not have, with an address that no object of the repository may have, and (kind
        insufficient_permissions) with one that is not importable; without `importable`, all are.
        Raises Gone and Corrupt for lost and damaged tables.
        """
        head_tree = self._trees.open(repository, head)
        head_ranges = {table.id for table in self._trees.read(head_tree.ranges)}
        check = _Check(self._blocks, self._trees, repository, head_tree, importable)
        check.ranges(metarange_id, head_ranges)

    def require_all_admitted(
        self,
        repository: Repository,
        metarange_ids: Iterable[str],
        advance: Callable[[int], None],
        importable: Importable | None = None,
    ) -> None:
        """Raises as `require_admitted` does for any object of these trees. Those in the
        repository's own data need not be importable. Ranges that several trees have are read once.
        `advance` is called with the number of trees checked.
        """
        no_head = self._trees.open(repository, kernel.EMPTY_TREE_ID)
        check = _Check(*(self._blocks, self._trees, repository, no_head, importable), own_data=True)
        checked: set[str] = set()
        for metarange_id in metarange_ids:
            check.ranges(metarange_id, checked)
            advance(1)


class _Check:
    """The check of trees on top of the tree of a head. With `own_data`, the objects in the
    repository's own data need not be importable.
    """

    def __init__(
        self,
        blocks: BlockStore,
        trees: Trees,
        repository: Repository,
        head_tree: kernel.Tree,
        importable: Importable | None,
        *,
        own_data: bool = False,
    ) -> None:
        self._blocks = blocks
        self._trees = trees
        self._repository = repository
        self._namespace = blocks.namespace(repository.storage_namespace)
        self._head_tree = head_tree
        self._importable = importable
        self._own_data = own_data

    def ranges(self, metarange_id: str, checked: set[str]) -> None:
        """Checks the ranges of a tree that are not among the `checked` ones, and adds them."""
        self._require_stored(metarange_id)
        tree = self._trees.open(self._repository, metarange_id)
        start = b""
        for table in self._trees.read(tree.ranges):
            last = table.max_key
            if table.id not in checked:
                self._require_stored(table.id)
                if not self._admits(tree, start, last):
                    self._check_each(tree, start, last)
            checked.add(table.id)
            start = last

    def _require_stored(self, table_id: str) -> None:
        """Raises Gone unless a table is in the repository's store: open tables are shared by their
        ids, so one of another repository would be found as well.
        """
        if table_id == kernel.EMPTY_TREE_ID:
            return
        address = table_address(self._namespace, table_id)
        if self._blocks.stat(address) is None:
            raise Gone(
                f"{address}: the table is missing in the object store",
                kind="metadata_missing",
                hint="A tree's tables must be in the storage namespace of its repository.",
            )

    def _admits(self, tree: kernel.Tree, start: bytes, last: bytes) -> bool:
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
                    admitted = admitted_address(
                        self._blocks, physical_address(self._namespace, text, kind)
                    )
                except Invalid:
                    return False
                if not self._admits_folder(admitted):
                    return False
        return True

    def _admits_folder(self, address: str) -> bool:
        """Returns whether all objects in the folder of an address may be imported."""
        if self._importable is None or self._is_own(address):
            return True
        return self._importable.admit_below(address.rpartition("/")[0])

    def _is_own(self, address: str) -> bool:
        return self._own_data and relative_address(self._namespace, address) is not None

    def _check_each(self, tree: kernel.Tree, start: bytes, last: bytes) -> None:
        """Raises Denied for the first object in that range of keys that has a rejected address,
        unless it has the same address in the head's tree.
        """
        after = start
        while after < last:
            rows = self._trees.read(_list_page, tree, after)
            for key, value in rows:
                if key > last or value is None:  # never None: there are no common prefixes
                    return
                self._check_one(key, entry_from(value))
            after = rows[-1][0] if rows else last

    def _check_one(self, key: bytes, entry: Entry) -> None:
        address = physical_address(self._namespace, entry.address, entry.address_type)
        try:
            admitted = admitted_address(self._blocks, address)
            if self._admits_folder(admitted) or self._importable is None:
                return
        except Invalid as error:
            if self._is_kept(key, entry):
                return
            reason = refusal(self._blocks, address)
            raise Denied(
                f"forbidden: {decode_key(key)} has {reason}: {address}",
                kind="address_forbidden",
                hint=error.message,
            ) from error
        if not self._is_kept(key, entry):
            self._importable.require(admitted)

    def _is_kept(self, key: bytes, entry: Entry) -> bool:
        """Returns whether the head has an object at the same address and path."""
        previous = self._trees.read(self._head_tree.get, key)
        if previous is None:
            return False
        kept = entry_from(previous)
        return (kept.address, kept.address_type) == (entry.address, entry.address_type)


def _list_page(tree: kernel.Tree, after: bytes) -> list[tuple[bytes, Value | None]]:
    page = tree.listing(after=after, amount=_PAGE_SIZE)
    page.feed([], last=True)
    return page.rows()
