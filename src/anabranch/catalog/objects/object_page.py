"""A page of a listing of objects, written as JSON or XML by the kernel."""

from __future__ import annotations

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.paths import SCHEME
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.versioning.records.entries import entry_from, unreadable

__all__ = ["ObjectPage", "object_stat"]


class ObjectPage:
    """A page of objects and common prefixes."""

    def __init__(self, listing: kernel.Listing, storage_namespace: str, blocks: BlockStore) -> None:
        self._listing = listing
        self._namespace = storage_namespace
        self._blocks = blocks
        self.has_more = listing.has_more
        self.next_offset = decode_key(listing.last_key()) if listing.has_more else ""

    def __len__(self) -> int:
        return len(self._listing)

    def json(self, *, user_metadata: bool) -> bytes:
        """Returns the page as a JSON array of lakeFS `ObjectStats`. Raises Corrupt."""
        namespace = self._blocks.qualify(self._namespace)
        root = self._blocks.qualify(SCHEME)
        local_root = "" if root == SCHEME else root
        try:
            return self._listing.object_stats_json(namespace, user_metadata, local_root)
        except kernel.KernelError as error:
            raise unreadable(error) from error

    def s3_elements(
        self,
        root: str,
        *,
        name: str = "Contents",
        after_key: str = "",
        at_end: str = "",
        encoded: bool = False,
    ) -> bytes:
        """Returns the page as XML elements of S3's listings, with keys relative to `root`.

        An object is an element `name` with its key, `after_key`, time, ETag, size, and `at_end`;
        `after_key` and `at_end` are XML. A common prefix is `<CommonPrefixes>`. Keys are escaped,
        or percent-encoded if `encoded`. Raises Corrupt.
        """
        try:
            return self._listing.s3_elements(
                encode_path(root), name=name, after_key=after_key, at_end=at_end, encoded=encoded
            )
        except kernel.KernelError as error:
            raise unreadable(error) from error

    @property
    def items(self) -> list[Stat | CommonPrefix]:
        """The page's objects and common prefixes, in order of their paths' bytes."""
        return [
            CommonPrefix(decode_key(key))
            if value is None
            else object_stat(self._blocks, self._namespace, decode_key(key), entry_from(value))
            for key, value in self._listing.rows()
        ]


def object_stat(blocks: BlockStore, storage_namespace: str, path: str, entry: Entry) -> Stat:
    """Returns the properties of an object at a path, its address as clients see it."""
    full = physical_address(storage_namespace, entry.address, entry.address_type)
    return Stat(path, entry, blocks.qualify(full))
