"""Use case of symlink manifests: files by which Hive reads the objects of a branch in the store.

Hive's `SymlinkTextInputFormat` reads a table from the files that are named, one address a line, by
a manifest in each of the table's folders. The manifest of a folder is, as in lakeFS,

    <storage namespace>/symlinks/<repository>/<branch>/<folder>/symlink.txt

A folder's objects are not adjacent in order of paths if it has subfolders, so each folder is listed
by itself. Memory is bounded by a page for each level of folders.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.objects import Objects
from anabranch.errors import Invalid
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.versioning.core import Core
from anabranch.versioning.repositories.repositories import check_writable

__all__ = ["Symlinks"]

_FOLDER, _FILE = "symlinks", "symlink.txt"


class Symlinks:
    """Use case of symlink manifests."""

    def __init__(self, core: Core, blocks: BlockStore, objects: Objects) -> None:
        self._core = core
        self._blocks = blocks
        self._objects = objects

    def write(self, repository: str, reference: str, prefix: str = "") -> str:
        """Writes the manifests of all folders that have objects whose paths begin with `prefix`,
        and removes those of folders that have no objects any more. Returns the address of the
        folder of all manifests, as below the repository's storage namespace.

        Empty objects whose paths end in a slash, which mark folders, are left out, and so are
        folders that the store cannot have, such as `a//` in a local one. Raises NotFound for the
        repository or the reference, ReadOnlyRepository, and Invalid for an address with a line
        break.
        """
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=False)
        self._core.references.resolve(stored_repository, reference)
        root = f"{stored_repository.storage_namespace.rstrip('/')}/{_FOLDER}"
        place = f"{root}/{repository}/{reference}/"
        for folder in self._folders(repository, reference, prefix):
            addresses = self._addresses(repository, reference, folder)
            first = next(addresses, None)
            manifest = f"{place}{folder}{_FILE}"
            if first is not None and self._is_possible(manifest):
                self._blocks.put(manifest, chain([first], addresses))
        self._remove_stale(repository, reference, prefix, place)
        return root

    def _is_possible(self, address: str) -> bool:
        """Returns whether the store can have a block at an address."""
        try:
            self._blocks.local_path(address)
        except Invalid:
            return False
        return True

    def _folders(self, repository: str, reference: str, prefix: str) -> Iterator[str]:
        """Yields the folders that may have objects under a prefix, each with a slash at its end."""
        top = prefix[: prefix.rfind("/") + 1]
        items = self._items(repository, reference, prefix)
        if top == prefix or any(isinstance(item, Stat) for item in items):
            yield top
        levels = [self._items(repository, reference, prefix)]
        while levels:
            item = next(levels[-1], None)
            if item is None:
                levels.pop()
            elif isinstance(item, CommonPrefix):
                yield item.path
                levels.append(self._items(repository, reference, item.path))

    def _addresses(self, repository: str, reference: str, folder: str) -> Iterator[bytes]:
        """Yields the lines of a folder's manifest."""
        for item in self._items(repository, reference, folder):
            if isinstance(item, Stat) and (item.entry.size or not item.path.endswith("/")):
                if "\n" in item.physical_address or "\r" in item.physical_address:
                    raise Invalid(
                        f"the address of {item.path!r} has a line break: a manifest cannot list it",
                        kind="address_with_line_break",
                    )
                yield item.physical_address.encode("utf-8", "surrogateescape") + b"\n"

    def _items(self, repository: str, reference: str, prefix: str) -> Iterator[Stat | CommonPrefix]:
        """Yields the objects and common prefixes under a prefix up to the next slash."""
        for page in self._objects.pages(repository, reference, prefix=prefix, delimiter="/"):
            yield from page.items

    def _remove_stale(self, repository: str, reference: str, prefix: str, place: str) -> None:
        """Removes manifests under a prefix whose folders have no objects."""
        if not self._is_possible(f"{place}{prefix}{_FILE}"):
            return
        for block in self._blocks.list(f"{place}{prefix}"):
            folder, _, name = block.address.removeprefix(place).rpartition("/")
            folder += "/" if folder else ""
            objects = self._addresses(repository, reference, folder)
            if name == _FILE and next(objects, None) is None:
                self._blocks.delete([block.address])
