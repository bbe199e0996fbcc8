"""A target of backups: a namespace of a block store, which several backups share.

    backups/ID/references-NNNN     rows of the key-value store
    backups/ID/manifest.json       written last
    store/SCHEME/REST              a mirror of the installation's store: tables and objects
    running/NAME                   marks of work that is going on
    pruned                         exists while tables are removed, or if some were lost

The address `local://sea/data/x` has its mirror at `store/local/sea/data/x`. Tables and objects
never change, so all backups share them, and a later one copies what is not there yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import tables_address
from anabranch.errors import Corrupt, Gone, Invalid, NotFound
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.backups.manifest import (
    Manifest,
    decode_manifest,
    encode_manifest,
    id_stem,
)

__all__ = ["BackupTarget"]

_MANIFEST = "manifest.json"


class BackupTarget:
    """The backups in a namespace of a store."""

    def __init__(self, blocks: BlockStore, namespace: str) -> None:
        self.blocks = blocks
        self.namespace = namespace.rstrip("/")
        self.mirror = f"{self.namespace}/store"
        """The prefix of the mirror of the installation's store."""

    def mirrored(self, address: str) -> str:
        """Returns where the target has the block of an address. Raises Invalid for one without a
        scheme.
        """
        scheme, separator, rest = address.partition("://")
        if not separator:
            raise Invalid(f"{address}: not an address", kind="invalid_address")
        return f"{self.mirror}/{scheme}/{rest}"

    def original(self, mirrored: str) -> str:
        """Returns the address of the block that the target has at an address."""
        scheme, _, rest = mirrored.removeprefix(f"{self.mirror}/").partition("/")
        return f"{scheme}://{rest}"

    def repository(self, repository: Repository) -> Repository:
        """Returns a repository as it is in the mirror."""
        namespace = self.mirrored(repository.storage_namespace.rstrip("/"))
        return msgspec.structs.replace(repository, storage_namespace=namespace)

    @property
    def pruning_mark(self) -> str:
        """The address of a block that exists while tables are removed. If that was killed, or a
        table was lost, a metarange may be there without its ranges.
        """
        return f"{self.namespace}/pruned"

    def tables(self, repository: Repository) -> set[str]:
        """Returns the ids of the tables that the target has of a repository."""
        prefix = f"{tables_address(self.repository(repository).storage_namespace)}/"
        names = (info.address.removeprefix(prefix) for info in self.blocks.list(prefix))
        return {name for name in names if "/" not in name}

    def address(self, backup: str, name: str) -> str:
        """Returns the address of a file of a backup."""
        return f"{self.namespace}/backups/{backup}/{name}"

    def publish(self, manifest: Manifest) -> None:
        """Writes the manifest of a backup, which makes it exist."""
        address = self.address(manifest.id, _MANIFEST)
        self.blocks.put(address, [encode_manifest(manifest)])

    def backups(self) -> Sequence[Manifest]:
        """Returns all backups, the oldest first. Raises Corrupt."""
        backups, damaged = self.readable()
        for error in damaged.values():
            raise error
        return backups

    def readable(self) -> tuple[Sequence[Manifest], Mapping[str, Corrupt]]:
        """Returns the backups whose manifest can be read, the oldest first, and why it cannot be
        read of others, by their ids.
        """
        found: list[Manifest] = []
        damaged: dict[str, Corrupt] = {}
        for backup, address, raw in self._manifests():
            try:
                found.append(decode_manifest(raw, address))
            except Corrupt as error:
                damaged[backup] = error
        return found, damaged

    def find(self, backup: str = "", before: float | None = None) -> Manifest:
        """Returns a backup by its id or the beginning of it, or the last one, of those that were
        made at or `before` a time in seconds since 1970. Raises NotFound, and Corrupt if it is one
        whose manifest cannot be read.
        """
        readable, damaged = self.readable()
        found = [
            each
            for each in readable
            if each.id.startswith(backup) and (before is None or each.created_at <= before)
        ]
        last = found[-1].id if found else ""
        for name, error in damaged.items():
            is_earlier = before is None or name.partition("-")[0] <= id_stem(before)
            if name.startswith(backup) and is_earlier and name > last:
                raise error
        if not found:
            raise NotFound(
                "there is no such backup",
                kind="backup_not_found",
                hint="`anabranch backup list TARGET` shows those that there are.",
            )
        return found[-1]

    def remove(self, backup: str) -> None:
        """Removes a backup: first its manifest, then its other files, not what it shares."""
        self.blocks.delete([self.address(backup, _MANIFEST)])
        prefix = self.address(backup, "")
        self.blocks.delete([info.address for info in self.blocks.list(prefix)])

    def unfinished(self) -> list[str]:
        """Returns the ids of backups that have files and no manifest."""
        made = {each.id for each in self.backups()}
        names = {each for each, _ in self._files()}
        return sorted(names - made)

    def _manifests(self) -> Iterator[tuple[str, str, bytes]]:
        """Yields the id of each backup, and the address and the content of its manifest."""
        for backup, name in self._files():
            if name != _MANIFEST:
                continue
            address = self.address(backup, name)
            try:
                yield backup, address, self.blocks.read(address)
            except Gone:
                continue  # it is being removed

    def _files(self) -> Iterator[tuple[str, str]]:
        prefix = f"{self.namespace}/backups/"
        for info in self.blocks.list(prefix):
            backup, _, name = info.address.removeprefix(prefix).partition("/")
            yield backup, name
