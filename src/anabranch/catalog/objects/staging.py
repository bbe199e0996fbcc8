"""Use cases of staging by address: a client stores the bytes itself and links their address.

An address that the server issues under a repository's namespace has a token, so that it can be
linked at that path only. Any other address of the store may be the bytes of any object, so naming
it needs the permission to import it: `link_sources` and `stage_sources` return what needs that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from anabranch.blocks.admitted_addresses import (
    admitted_address,
    is_source,
    spellings,
    store_address,
)
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.address_tokens import AddressTokens
from anabranch.catalog.objects.entry_changes import KeepChecksums
from anabranch.catalog.objects.object_page import object_stat
from anabranch.catalog.protection import Protection
from anabranch.converter import Converter
from anabranch.errors import Denied, Invalid
from anabranch.model.objects.entry import (
    DEFAULT_CONTENT_TYPE,
    AddressType,
    Entry,
    physical_address,
    relative_address,
    user_metadata,
)
from anabranch.model.objects.md5 import md5_of
from anabranch.model.objects.stat import Stat
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.sweeps import AdmitAddress
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["Staging"]


class Staging:
    """Use cases of physical addresses. `clock` returns seconds since 1970."""

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        clock: Callable[[], float],
        signing_secret: bytes,
        protection: Protection,
        *,
        require_linked_objects: bool = True,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock
        self._tokens = AddressTokens(signing_secret, clock)
        self._protection = protection
        self._require_linked_objects = require_linked_objects

    def new_address(self, repository: str, branch: str, path: str) -> str:
        """Returns an address to store an object's bytes at, with its token, valid for a day.

        The branch is checked when the object is linked: clients may create it in between.
        """
        stored_repository = self._core.repositories.get(repository)
        relative = self._core.identifiers.data_address()
        namespace = self._blocks.qualify(stored_repository.storage_namespace.rstrip("/"))
        return f"{namespace}/{self._tokens.sign(repository, branch, path, relative)}"

    def link_sources(self, repository: str, branch: str, path: str, address: str) -> list[str]:
        """Returns the addresses that a caller of `link` must be permitted to import: none for one
        in the repository's data, which needs a token. Raises NotFound, and Invalid as `link` does.
        """
        namespace = self._core.repositories.get(repository).storage_namespace
        physical = store_address(self._blocks, address)
        relative = relative_address(namespace, physical)
        if relative is None:
            return spellings(self._blocks, physical)
        self._tokens.verify(repository, branch, path, relative)
        return []

    def stage_sources(self, repository: str, branch: str, path: str, address: str) -> list[str]:
        """Returns the addresses that a caller of `stage` and `object_at` must be permitted to
        import: none for one with a token of this path, and none for one that is refused in any
        case. Raises NotFound for the repository.
        """
        namespace = self._core.repositories.get(repository).storage_namespace
        try:
            physical = admitted_address(self._blocks, address)
        except Invalid:
            return []
        if is_source(self._blocks, physical):
            return [physical]
        relative = relative_address(namespace, physical)
        if relative is not None:
            with suppress(Invalid):
                self._tokens.verify(repository, branch, path, relative)
                return []
        return spellings(self._blocks, physical)

    def link(
        self,
        repository: str,
        branch: str,
        path: str,
        *,
        address: str,
        checksum: str,
        size: int,
        mtime: int | None = None,
        metadata: Mapping[str, str] | None = None,
        content_type: str = "",
        if_absent: bool = False,
        force: bool = False,
    ) -> Stat:
        """Stages an object whose bytes a client stored at an address from `new_address`.

        Raises ReadOnlyRepository without `force`, ProtectedBranch, NotFound for the branch;
        Invalid for an address with a wrong or expired token, a missing checksum, and, unless the
        settings say otherwise, if no object of that size is stored at the address (kinds
        link_address_empty, link_size_mismatch);
        Conflict (kind being_removed) while garbage collection removes the object.
        """
        with self._core.prefetch(("writable", repository, branch)):
            stored_repository = self._core.repositories.get(repository)
            check_writable(stored_repository, force=force)
            self._protection.require_writable(stored_repository, branch)
            stored_branch = self._core.branches.read(stored_repository, branch)
        if not checksum:
            raise Invalid("checksum is required", kind="checksum_required")
        physical = store_address(self._blocks, address)
        relative = relative_address(stored_repository.storage_namespace, physical)
        if relative is not None:
            self._tokens.verify(repository, branch, path, relative)
        entry = self._entry(
            stored_repository, physical, checksum, size, mtime, metadata, content_type
        )
        admission = _LinkAdmission(
            self, _physical_address(stored_repository, entry), physical, size
        )
        self._core.changes.put(
            stored_repository,
            branch,
            path,
            entry,
            if_absent=if_absent,
            known=stored_branch,
            extra_writes=[admission],
        )
        return object_stat(self._blocks, stored_repository.storage_namespace, path, entry)

    def stage(
        self,
        repository: str,
        branch: str,
        path: str,
        *,
        address: str,
        checksum: str,
        size: int,
        mtime: int | None = None,
        metadata: Mapping[str, str] | None = None,
        content_type: str = "",
        force: bool = False,
    ) -> Stat:
        """Stages an object whose bytes are at any address of the store. If the path already has an
        object with these bytes, its stored checksums are kept.

        Raises Denied for an address outside the store, unless imports may read it, and Conflict
        (kind being_removed) for an object that garbage collection is removing.
        """
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=force)
        self._protection.require_writable(stored_repository, branch)
        try:
            physical = admitted_address(self._blocks, address)
        except Invalid as error:
            raise Denied("forbidden", kind="address_forbidden", hint=error.message) from error
        entry = self._entry(
            stored_repository, physical, checksum, size, mtime, metadata, content_type
        )
        admit = AdmitAddress(self._core.sweeps, _physical_address(stored_repository, entry))
        staged = self._core.changes.replace(
            stored_repository,
            branch,
            path,
            KeepChecksums(entry),
            extra_writes=[admit],
        )
        return object_stat(self._blocks, stored_repository.storage_namespace, path, staged)

    def object_at(
        self, repository: str, branch: str, path: str, address: str, properties: Mapping[str, Any]
    ) -> Entry:
        """Returns the entry of stored bytes, as `link` and `stage` would stage it: an address in
        the repository's data must come from `new_address`. Of `properties`, `size_bytes` is
        checked, and `checksum` computed if it is missing; `content_type` and `user_metadata` may be
        given.

        Raises Denied for an address outside the store, unless imports may read it, and Invalid as
        `link` does.
        """
        stored_repository = self._core.repositories.get(repository)
        try:
            physical = admitted_address(self._blocks, address)
        except Invalid as error:
            raise Denied("forbidden", kind="address_forbidden", hint=error.message) from error
        relative = relative_address(stored_repository.storage_namespace, physical)
        if relative is not None:
            self._tokens.verify(repository, branch, path, relative)
        given = _given_properties(properties)
        size = self._require_stored(physical, given.size_bytes)
        return self._entry(
            stored_repository,
            physical,
            given.checksum or md5_of(self._blocks.get(physical)),
            size,
            None,
            given.user_metadata,
            given.content_type,
        )

    def _entry(
        self,
        repository: Repository,
        address: str,
        checksum: str,
        size: int,
        mtime: int | None,
        metadata: Mapping[str, str] | None,
        content_type: str,
    ) -> Entry:
        """Returns the entry of the bytes at an address, relative to the repository if possible."""
        relative = relative_address(repository.storage_namespace, address)
        return Entry(
            address=address if relative is None else relative,
            address_type=int(AddressType.FULL if relative is None else AddressType.RELATIVE),
            size=size,
            mtime=int(self._clock()) if mtime is None else mtime,
            checksum=checksum,
            metadata=user_metadata(metadata),
            content_type=content_type or DEFAULT_CONTENT_TYPE,
        )

    def admit_link(self, entry_address: str, address: str, size: int) -> ExtraWrites:
        """Returns the conditions on which the object at an address may be linked. Raises Conflict,
        and Invalid if no object of that size is stored.
        """
        # the store is checked after the sweeps: a sweep that begins later fails the condition
        admitted = self._core.sweeps.admit_addresses([entry_address])
        if self._require_linked_objects:
            self._require_stored(address, size)
        return admitted

    def _require_stored(self, address: str, size: int | None) -> int:
        """Returns the size of the object at an address. Raises Invalid if there is none, or one of
        another size than `size`, if that is given.
        """
        block = self._blocks.stat(address)
        if block is None:
            raise Invalid(
                f"link address empty: no object is stored at {self._blocks.qualify(address)}",
                kind="link_address_empty",
                hint="Store the object at the address first, then link it.",
            )
        if size not in (None, block.size):
            raise Invalid(
                f"link size mismatch: the stored object has {block.size} bytes, "
                f"the request says {size}",
                kind="link_size_mismatch",
                hint="Link the object with the size of the stored object.",
            )
        return block.size


class _LinkAdmission:
    """Admits the object that is linked: at once, and again from the second attempt on."""

    def __init__(self, staging: Staging, entry_address: str, address: str, size: int) -> None:
        self._staging = staging
        self._object = entry_address, address, size
        self._first: ExtraWrites | None = staging.admit_link(*self._object)

    def writes_for(self, _: None, /) -> ExtraWrites:
        """Returns the conditions. Raises as `Staging.admit_link` does."""
        first, self._first = self._first, None
        return first or self._staging.admit_link(*self._object)


class _Properties(msgspec.Struct, frozen=True):
    checksum: str = ""
    size_bytes: int | None = None
    content_type: str = ""
    user_metadata: dict[str, str] = {}


_CONVERTER = Converter(_Properties)


def _given_properties(properties: Mapping[str, Any]) -> _Properties:
    try:
        return _CONVERTER.convert(dict(properties))
    except msgspec.ValidationError as error:
        raise Invalid(f"{error}", kind="invalid_object_properties") from error


def _physical_address(repository: Repository, entry: Entry) -> str:
    return physical_address(repository.storage_namespace, entry.address, entry.address_type)
