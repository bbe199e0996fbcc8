"""Use cases of objects: upload, read, list, copy, change metadata, delete.

An upload stores the bytes at a new address first and stages the entry last, so that objects appear
whole or not at all. If the upload fails, the bytes are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.blocks.contract import BlockStore, Stored
from anabranch.catalog.objects.byte_copies import ByteCopies, Sharing
from anabranch.catalog.objects.entry_changes import AdmitShared, ChangeUserMetadata
from anabranch.catalog.objects.object_page import ObjectPage, object_stat
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.catalog.objects.readable_listing import list_objects
from anabranch.catalog.objects.write_checks import Precondition, WriteChecks
from anabranch.catalog.protection import Protection
from anabranch.errors import AnabranchError, Invalid, OutcomeUnknown
from anabranch.lake.paging import all_pages
from anabranch.model.image import PINNED
from anabranch.model.names import check_path, encode_path
from anabranch.model.objects.entry import (
    DEFAULT_CONTENT_TYPE,
    AddressType,
    Entry,
    physical_address,
    relative_address,
    user_metadata,
)
from anabranch.model.objects.stat import Stat
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.objects.changes import DeleteCondition
from anabranch.versioning.references.references import Resolved
from anabranch.versioning.repositories.repositories import check_writable

__all__ = ["MAX_DELETE", "Objects"]

MAX_DELETE = 1000
_PAGE_SIZE = 1_000

VerifyStored: TypeAlias = Callable[[Stored], dict[str, str]]
"""Checks stored bytes and returns the system metadata of the object; raises if they are wrong."""

TransformMetadata: TypeAlias = Callable[[Entry], tuple[str, dict[str, str]]]
"""Returns a copy's content type and user metadata, given the entry of the source."""

DigestSource: TypeAlias = Callable[[OpenObject], dict[str, str]]
"""Returns a copy's system metadata, given the source."""


class Objects:
    """Use cases of objects. `clock` returns seconds since 1970."""

    def __init__(
        self, core: Core, blocks: BlockStore, clock: Callable[[], float], protection: Protection
    ) -> None:
        self._core = core
        self._protection = protection
        self._blocks = blocks
        self._clock = clock
        self._writes = WriteChecks(core, protection)
        self.byte_copies = ByteCopies(core.identifiers, blocks)

    def stat(self, repository: str, reference: str, path: str) -> Stat:
        """Returns the properties of the object at a path. Raises NotFound."""
        with self._core.prefetch((repository, reference), encode_path(path)):
            stored_repository, entry = self._core.read_points.entry(repository, reference, path)
        return object_stat(self._blocks, stored_repository.storage_namespace, path, entry)

    def resolve(self, repository: str, reference: str) -> Resolved:
        """Returns what a reference names now, as `open` and `listing` take it: a commit, unless it
        is a branch with staged changes. Raises NotFound.
        """
        stored_repository = self._core.repositories.get(repository)
        resolved = self._core.references.resolve(stored_repository, reference)
        if self._core.staging.is_empty(resolved.tokens):
            return Resolved(resolved.commit_id)
        return resolved

    def open(
        self, repository: str, reference: str, path: str, *, at: Resolved | None = None
    ) -> OpenObject:
        """Returns the object at a path, open for reading: at the reference, or `at` what it named
        before. Raises NotFound.
        """
        with self._core.prefetch((repository, reference), encode_path(path)):
            stored_repository, entry = self._core.read_points.entry(
                repository, reference, path, at=at
            )
        return OpenObject(stored_repository, entry, self._blocks)

    def read_many(
        self, repository: str, reference: str, paths: Sequence[str]
    ) -> list[bytes | AnabranchError]:
        """Returns the contents of objects at one moment, in order, or the error in place of one."""
        at = self.resolve(repository, reference)
        found: list[bytes | AnabranchError] = []
        for path in paths:
            try:
                found.append(self.open(repository, reference, path, at=at).read_bytes())
            except AnabranchError as error:
                found.append(error)
        return found

    def listing(
        self,
        repository: str,
        reference: str,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
        readable: ReadablePaths | None = None,
        at: Resolved | None = None,
    ) -> ObjectPage:
        """Returns a page of the objects at a reference, or `at` what it named before: of those that
        are `readable`, of all if that is None.
        """
        page = {"prefix": prefix, "after": after, "delimiter": delimiter}
        with self._core.prefetch(("listing", repository, reference)):
            stored_repository = self._core.repositories.get_for_reading(repository, reference)
            resolved = at or self._core.references.resolve(stored_repository, reference)
            listing = list_objects(
                self._core, stored_repository, resolved, readable, **page, amount=amount
            )
        return ObjectPage(listing, stored_repository.storage_namespace, self._blocks)

    def pages(
        self,
        repository: str,
        reference: str,
        *,
        prefix: str = "",
        delimiter: str = "",
        readable: ReadablePaths | None = None,
        at: Resolved | None = None,
    ) -> Iterator[ObjectPage]:
        """Yields all pages of a listing, one after another as they are asked for. A branch may
        change between two of them, unless `at` is given.
        """
        return all_pages(
            lambda after: self.listing(
                *(repository, reference),
                prefix=prefix,
                after=after,
                delimiter=delimiter,
                amount=_PAGE_SIZE,
                readable=readable,
                at=at,
            )
        )

    def upload(
        self,
        repository: str,
        branch: str,
        path: str,
        chunks: Iterable[bytes],
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        metadata: Mapping[str, str] | None = None,
        if_absent: bool = False,
        precondition: Precondition | None = None,
        verify: VerifyStored | None = None,
        storage_class: str = "",
        force: bool = False,
    ) -> Stat:
        """Stores an object on a branch, uncommitted. `storage_class` is S3's name of a class, which
        other stores ignore.

        `precondition` is called with the current entry, None if there is none, possibly several
        times. `verify` is called with the stored bytes and returns the object's system metadata.

        Raises PreconditionFailed if `if_absent` is set and there is an object, what `precondition`,
        `chunks` and `verify` raise, and Busy for a full disk. Nothing has changed then.
        """
        stored_repository, stored_branch = self._writes.require_writable_branch(
            repository, branch, path, force=force
        )
        self._writes.check_preconditions_early(
            stored_repository, branch, path, if_absent=if_absent, precondition=precondition
        )
        address = self._core.identifiers.data_address()
        physical = f"{stored_repository.storage_namespace.rstrip('/')}/{address}"
        stored = self._blocks.put(
            physical, chunks, unique_address=True, storage_class=storage_class
        )
        with self._delete_on_failure(physical):
            entry = Entry(
                address=address,
                size=stored.size,
                mtime=stored.mtime,
                checksum=stored.checksum,
                metadata=user_metadata(metadata),
                content_type=content_type or DEFAULT_CONTENT_TYPE,
                system_metadata={} if verify is None else verify(stored),
            )
            self._writes.stage(
                stored_repository,
                branch,
                path,
                entry,
                if_absent=if_absent,
                precondition=precondition,
                stored_branch=stored_branch,
            )
        return object_stat(self._blocks, stored_repository.storage_namespace, path, entry)

    def copy(
        self,
        repository: str,
        branch: str,
        destination_path: str,
        *,
        source_path: str,
        source_ref: str = "",
        source_repository: str = "",
        transform_metadata: TransformMetadata | None = None,
        digest_source: DigestSource | None = None,
        if_absent: bool = False,
        precondition: Precondition | None = None,
        force: bool = False,
        shallow: bool = False,
        sharing: Sharing = Sharing.NOTHING,
    ) -> Stat:
        """Copies an object from `source_ref`, by default the branch itself, to a path of the
        branch.

        The source may be in another repository. The copy keeps checksum, content type and metadata,
        unless `transform_metadata` returns others, and the system metadata, unless `digest_source`
        returns another; its time is that of copying. It refers to the bytes of the source if
        `sharing` allows it, else the store copies them. A `shallow` copy refers to them wherever
        they are, even in another repository, with which they may be removed. Raises as `upload`
        does, and what both functions raise.
        """
        stored_repository = self._writes.require_writable(
            repository, branch, destination_path, force=force
        )
        source = (
            self._core.repositories.get(source_repository)
            if source_repository
            else stored_repository
        )
        entry = self._core.objects.get(source, source_ref or branch, source_path)
        sharing = Sharing.EVERYTHING if shallow else sharing
        is_shared = sharing.allows(entry, source, stored_repository)
        content_type, metadata = entry.content_type, entry.metadata
        if transform_metadata is not None:
            content_type, metadata = transform_metadata(entry)
        self._writes.check_preconditions_early(
            stored_repository,
            branch,
            destination_path,
            if_absent=if_absent,
            precondition=precondition,
        )
        original = physical_address(source.storage_namespace, entry.address, entry.address_type)
        shared = AdmitShared(self._core, self._blocks, source, source_ref or branch, original)
        system_metadata = entry.system_metadata
        if digest_source is not None:
            system_metadata = digest_source(OpenObject(source, entry, self._blocks))
        copied = msgspec.structs.replace(
            entry,
            mtime=int(self._clock()),
            mtime_nanos=0,
            metadata={key: text for key, text in metadata.items() if key != PINNED},
            content_type=content_type or DEFAULT_CONTENT_TYPE,
            system_metadata=system_metadata,
        )
        with ExitStack() as undo:
            if is_shared:
                copied = _at_address_of(entry, copied, original, stored_repository)
            else:
                stored = self.byte_copies.copy(entry, source, stored_repository)
                physical = self.byte_copies.physical(stored, stored_repository)
                undo.enter_context(self._delete_on_failure(physical))
                copied = msgspec.structs.replace(
                    copied, address=stored.address, address_type=stored.address_type
                )
            self._writes.stage(
                stored_repository,
                branch,
                destination_path,
                copied,
                if_absent=if_absent,
                precondition=precondition,
                extra_writes=[shared] if is_shared else (),
            )
        return object_stat(
            self._blocks, stored_repository.storage_namespace, destination_path, copied
        )

    def delete(self, repository: str, branch: str, path: str, *, force: bool = False) -> None:
        """Deletes an object from a branch, if it exists."""
        with self._core.prefetch(("delete", repository, branch), encode_path(path)):
            stored_repository, stored_branch = self._writes.require_changeable_branch(
                repository, branch, path, force=force
            )
            self._core.changes.delete(stored_repository, branch, [path], known=stored_branch)

    def delete_many(
        self,
        repository: str,
        branch: str,
        paths: Sequence[str],
        *,
        conditions: Mapping[str, DeleteCondition] = MappingProxyType({}),
        force: bool = False,
    ) -> list[tuple[str, AnabranchError]]:
        """Deletes up to 1,000 objects in one step; returns the paths that were not deleted, with
        the reason.

        A path in `conditions` is deleted only if its condition returns no error for the current
        entry.
        """
        if len(paths) > MAX_DELETE:
            raise Invalid(
                f"request size exceeded, max paths is set to {MAX_DELETE}", kind="too_many_paths"
            )
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=force)
        self._protection.require_writable(stored_repository, branch)
        errors: list[tuple[str, AnabranchError]] = []
        valid: list[str] = []
        for path in paths:
            try:
                check_path(path)
            except Invalid as error:
                errors.append((path, error))
            else:
                valid.append(path)
        valid_conditions = {path: conditions[path] for path in valid if path in conditions}
        return [
            *errors,
            *self._core.changes.delete(stored_repository, branch, valid, valid_conditions).items(),
        ]

    def set_user_metadata(
        self,
        repository: str,
        branch: str,
        path: str,
        metadata: Mapping[str, str],
        *,
        force: bool = False,
    ) -> None:
        """Replaces an object's user metadata, but not its checksums. Raises NotFound."""
        self.change_user_metadata(repository, branch, path, lambda _: dict(metadata), force=force)

    def change_user_metadata(
        self,
        repository: str,
        branch: str,
        path: str,
        change: Callable[[dict[str, str]], dict[str, str]],
        *,
        force: bool = False,
    ) -> None:
        """Replaces an object's user metadata by what `change` returns for it. `change` is called
        again after a concurrent write. Raises NotFound.
        """
        stored_repository, _ = self._writes.require_changeable_branch(
            repository, branch, path, force=force
        )
        replacing = ChangeUserMetadata(f"{repository}/{branch}/{path}", change)
        self._core.changes.replace(stored_repository, branch, path, replacing)

    @contextmanager
    def _delete_on_failure(self, address: str) -> Iterator[None]:
        """Deletes the bytes at an address if the block fails before their entry is staged."""
        try:
            yield
        except OutcomeUnknown:
            raise  # the entry may have been staged
        except AnabranchError:
            self._blocks.delete([address])
            raise


def _at_address_of(source: Entry, copied: Entry, physical: str, repository: Repository) -> Entry:
    """Returns an entry of a repository with the bytes of the source at a physical address."""
    relative = relative_address(repository.storage_namespace, physical)
    metadata = dict(copied.metadata)
    if PINNED in source.metadata:  # the bytes are outside of the store: they may change there
        metadata[PINNED] = source.metadata[PINNED]
    return msgspec.structs.replace(
        copied,
        address=physical if relative is None else relative,
        address_type=int(AddressType.FULL if relative is None else AddressType.RELATIVE),
        metadata=metadata,
    )
