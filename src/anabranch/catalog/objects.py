"""Objects: uploaded, read, listed, copied, described, deleted.

An upload stores the bytes under a new address first and stages the entry last, so that an object is
either not there or there whole. Bytes that came to nothing are removed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.checked_reads import CheckedReads
from anabranch.blocks.contract import BlockStore, Stored
from anabranch.blocks.local_paths import SCHEME
from anabranch.catalog.checked_bytes import checked_reads, require_bytes
from anabranch.catalog.own_checksums import claimed_address, own_md5
from anabranch.catalog.pinned_reads import PinnedRead, pinned_etag, unreplaced
from anabranch.catalog.protection import Protection
from anabranch.catalog.writes import Expecting, Writes
from anabranch.errors import AnabranchError, Gone, Invalid, NotFound, OutcomeUnknown
from anabranch.model.entry import (
    DEFAULT_CONTENT_TYPE,
    AddressType,
    Entry,
    physical_address,
    user_metadata,
)
from anabranch.model.image import PINNED
from anabranch.model.names import check_path, key_of, path_of
from anabranch.model.repository import Repository
from anabranch.model.stat import CommonPrefix, Stat
from anabranch.versioning.changes import Refusal
from anabranch.versioning.core import Core
from anabranch.versioning.entries import entry_from, unreadable
from anabranch.versioning.repositories import check_writable

__all__ = ["MAX_DELETE", "ObjectPage", "Objects", "OpenObject"]

MAX_DELETE = 1000

Accepting: TypeAlias = Callable[[Stored], dict[str, str]]
"""Raises for stored bytes that are not what they should be; returns what to keep with them."""

Describing: TypeAlias = Callable[[Entry], tuple[str, dict[str, str]]]
"""Makes a copy's content type and metadata of the source's entry."""


class OpenObject:
    """An object's entry and the way to its bytes."""

    __slots__ = ("_blocks", "_repository", "entry")

    def __init__(self, repository: Repository, entry: Entry, blocks: BlockStore) -> None:
        self.entry = entry
        self._repository = repository
        self._blocks = blocks

    @property
    def physical_address(self) -> str:
        """The full address of the bytes."""
        return self._blocks.qualify(self._address)

    def read(self, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields the bytes from `start` on, `length` of them or all, in pieces.

        Nothing is opened before the first piece is asked for. Raises Gone, before the first piece,
        when the data is lost or shorter than the entry says, and before the last when it is pinned
        to an ETag and has been replaced.
        """
        wanted = self.entry.size - start if length is None else length
        pinned = self._pinned()
        if pinned is not None:
            yield from pinned.get(start, wanted)
            return
        checked = self._checked(start, wanted)
        if checked is not None:
            yield from checked.get(self._address, wanted, self.entry.checksum)
        else:
            yield from self._blocks.get(self._address, start, wanted)

    def read_bytes(self, start: int = 0, length: int | None = None) -> bytes:
        """Returns the same as one string: for small objects."""
        wanted = self.entry.size - start if length is None else length
        pinned = self._pinned()
        if pinned is not None:
            return pinned.read(start, wanted)
        checked = self._checked(start, wanted)
        if checked is not None:
            return checked.read(self._address, wanted, self.entry.checksum)
        return self._blocks.read(self._address, start, wanted)

    def read_at_once(self, start: int, length: int) -> bytes | None:
        """Returns the same if it takes no waiting; None if it does, or goes wrong. Raises Gone
        where the bytes were found damaged before.
        """
        if self.pinned_etag:
            return None
        checked = self._checked(start, length)
        if checked is not None:
            return checked.read_at_once(self._address, length, self.entry.checksum)
        return self._blocks.read_at_once(self._address, start, length)

    def require_bytes(self) -> None:
        """Raises Gone where the bytes are known to be lost or damaged; see `require_bytes`."""
        require_bytes(self._blocks, self.entry, self._address)

    @property
    def pinned_etag(self) -> str:
        """The ETag that the bytes must have, "" where they never change."""
        return pinned_etag(self.entry)

    def _pinned(self) -> PinnedRead | None:
        etag = self.pinned_etag
        if not etag:
            return None
        return PinnedRead(self._blocks, self._address, etag)

    def _checked(self, start: int, length: int) -> CheckedReads | None:
        namespace = self._repository.storage_namespace
        return checked_reads(self._blocks, self.entry, namespace, start, length)

    @property
    def _address(self) -> str:
        return _address(self._repository, self.entry)


Digesting: TypeAlias = Callable[[OpenObject], dict[str, str]]
"""Makes a copy's system metadata of the source."""


class ObjectPage:
    """A page of objects and common prefixes."""

    def __init__(self, listing: kernel.Listing, storage_namespace: str, blocks: BlockStore) -> None:
        self._listing = listing
        self._namespace = storage_namespace
        self._blocks = blocks
        self.has_more = listing.has_more
        self.next_offset = path_of(listing.last_key()) if listing.has_more else ""

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
        """Returns the page as the XML elements of S3's listings, keys behind `root`.

        An object is `<name>` with its key, `after_key`, its time, ETag and size, and `at_end`,
        both of them elements already; a common prefix is `<CommonPrefixes>`. Keys are escaped, or
        percent-encoded if `encoded`. Raises Corrupt.
        """
        try:
            return self._listing.s3_elements(
                key_of(root), name=name, after_key=after_key, at_end=at_end, encoded=encoded
            )
        except kernel.KernelError as error:
            raise unreadable(error) from error

    @property
    def items(self) -> list[Stat | CommonPrefix]:
        """The page's objects and common prefixes, in order of their paths' bytes."""
        return [
            CommonPrefix(path_of(key))
            if value is None
            else _stat(self._blocks, self._namespace, path_of(key), entry_from(value))
            for key, value in self._listing.rows()
        ]


class Objects:
    """The use cases of objects. `clock` gives seconds since 1970."""

    def __init__(
        self, core: Core, blocks: BlockStore, clock: Callable[[], float], protection: Protection
    ) -> None:
        self._core = core
        self._protection = protection
        self._blocks = blocks
        self._clock = clock
        self._writes = Writes(core, protection)

    def stat(self, repository: str, reference: str, path: str) -> Stat:
        """Returns what is known of the object at a path. Raises NotFound."""
        with self._core.foreseen((repository, reference), key_of(path)):
            found = self._core.repositories.get(repository)
            entry = self._core.objects.get(found, reference, path)
        return _stat(self._blocks, found.storage_namespace, path, entry)

    def open(self, repository: str, reference: str, path: str) -> OpenObject:
        """Returns the object at a path, to be read. Raises NotFound."""
        with self._core.foreseen((repository, reference), key_of(path)):
            found = self._core.repositories.get(repository)
            entry = self._core.objects.get(found, reference, path)
        return OpenObject(found, entry, self._blocks)

    def listing(
        self,
        repository: str,
        reference: str,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> ObjectPage:
        """Returns a page of the objects at a reference."""
        with self._core.foreseen(("listing", repository, reference)):
            found = self._core.repositories.get(repository)
            listing = self._core.objects.listing(
                found, reference, prefix=prefix, after=after, delimiter=delimiter, amount=amount
            )
        return ObjectPage(listing, found.storage_namespace, self._blocks)

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
        expecting: Expecting | None = None,
        accept: Accepting | None = None,
        force: bool = False,
    ) -> Stat:
        """Stores an object on a branch, uncommitted.

        Raises PreconditionFailed if there must be none yet (`if_absent`) and there is, what
        `expecting` raises of the entry that is there, or of None, what `chunks` raises, what
        `accept` raises of the stored bytes, and Busy for a full disk; then nothing has changed.
        `expecting` may be asked several times. What `accept` returns is kept with the object as
        system metadata.
        """
        found, known = self._writes.writable_branch(repository, branch, path, force=force)
        self._writes.refuse_early(found, branch, path, if_absent=if_absent, expecting=expecting)
        address = self._core.identifiers.data_address()
        full = f"{found.storage_namespace.rstrip('/')}/{address}"
        stored = self._blocks.put(full, chunks, fresh=True)
        with self._removed_on_failure(full):
            entry = Entry(
                address=address,
                size=stored.size,
                mtime=stored.mtime,
                checksum=stored.checksum,
                metadata=user_metadata(metadata),
                content_type=content_type or DEFAULT_CONTENT_TYPE,
                system_metadata={} if accept is None else accept(stored),
            )
            self._writes.stage(
                found,
                branch,
                path,
                entry,
                if_absent=if_absent,
                expecting=expecting,
                known=known,
            )
        return _stat(self._blocks, found.storage_namespace, path, entry)

    def copy(
        self,
        repository: str,
        branch: str,
        destination_path: str,
        *,
        source_path: str,
        source_ref: str = "",
        source_repository: str = "",
        described: Describing | None = None,
        digested: Digesting | None = None,
        if_absent: bool = False,
        expecting: Expecting | None = None,
        force: bool = False,
    ) -> Stat:
        """Copies an object, from `source_ref` or the branch itself, to a path of the branch; from
        another repository if one is named.

        Checksum, content type and metadata stay, unless `described` makes others of the source's
        entry, and `digested` another system metadata of its bytes; the time is the copy's own.
        Raises as `upload` does, and what `described` and `digested` raise.
        """
        found = self._writes.writable(repository, branch, destination_path, force=force)
        source = self._core.repositories.get(source_repository) if source_repository else found
        entry = self._core.objects.get(source, source_ref or branch, source_path)
        content_type, metadata = entry.content_type, entry.metadata
        if described is not None:
            content_type, metadata = described(entry)
        self._writes.refuse_early(
            found, branch, destination_path, if_absent=if_absent, expecting=expecting
        )
        system = entry.system_metadata
        if digested is not None:
            system = digested(OpenObject(source, entry, self._blocks))
        address = self._core.identifiers.data_address()
        if not own_md5(entry):
            address = claimed_address(address)
        full = f"{found.storage_namespace.rstrip('/')}/{address}"
        self._copy_bytes(source, entry, full)
        copied = msgspec.structs.replace(
            entry,
            address=address,
            address_type=int(AddressType.RELATIVE),
            mtime=int(self._clock()),
            mtime_nanos=0,
            metadata={key: text for key, text in metadata.items() if key != PINNED},
            content_type=content_type or DEFAULT_CONTENT_TYPE,
            system_metadata=system,
        )
        with self._removed_on_failure(full):
            self._writes.stage(
                found, branch, destination_path, copied, if_absent=if_absent, expecting=expecting
            )
        return _stat(self._blocks, found.storage_namespace, destination_path, copied)

    def _copy_bytes(self, source: Repository, entry: Entry, destination: str) -> None:
        """Copies an object's bytes; they are the same, so they need not be read for their
        checksum. Raises Gone.
        """
        address = _address(source, entry)
        try:
            with unreplaced(self._blocks, address, pinned_etag(entry)):
                self._blocks.copy(address, destination, checksum=entry.checksum)
        except Gone:
            self._blocks.delete([destination])
            raise

    def delete(self, repository: str, branch: str, path: str, *, force: bool = False) -> None:
        """Deletes an object from a branch; one that is not there is passed over."""
        with self._core.foreseen(("delete", repository, branch), key_of(path)):
            found, known = self._writes.changeable_branch(repository, branch, path, force=force)
            self._core.changes.delete(found, branch, [path], known=known)

    def delete_many(
        self,
        repository: str,
        branch: str,
        paths: Sequence[str],
        *,
        refusals: Mapping[str, Refusal] = MappingProxyType({}),
        force: bool = False,
    ) -> list[tuple[str, AnabranchError]]:
        """Deletes up to 1,000 objects in one step; returns the paths that could not be, and why.

        A path in `refusals` is deleted only if that finds nothing wrong with what is there.
        """
        if len(paths) > MAX_DELETE:
            raise Invalid(
                f"request size exceeded, max paths is set to {MAX_DELETE}", kind="too_many_paths"
            )
        found = self._core.repositories.get(repository)
        check_writable(found, force=force)
        self._protection.require_writable(found, branch)
        refused: list[tuple[str, AnabranchError]] = []
        good: list[str] = []
        for path in paths:
            try:
                check_path(path)
            except Invalid as error:
                refused.append((path, error))
            else:
                good.append(path)
        kept = {path: refusals[path] for path in good if path in refusals}
        return [*refused, *self._core.changes.delete(found, branch, good, kept).items()]

    def set_user_metadata(
        self,
        repository: str,
        branch: str,
        path: str,
        metadata: Mapping[str, str],
        *,
        force: bool = False,
    ) -> None:
        """Replaces an object's user metadata; checksums stay. Raises NotFound."""
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
        """Puts what `change` makes of an object's user metadata in its place; it may be called
        again when another writer came first. Raises NotFound.
        """
        found, _ = self._writes.changeable_branch(repository, branch, path, force=force)

        def described(entry: Entry | None) -> Entry:
            if entry is None:
                raise NotFound(
                    f"update user metadata on {repository}/{branch}/{path}: not found",
                    kind="object_not_found",
                )
            return msgspec.structs.replace(
                entry, metadata=user_metadata(change(dict(entry.metadata)))
            )

        self._core.changes.replace(found, branch, path, described)

    @contextmanager
    def _removed_on_failure(self, address: str) -> Iterator[None]:
        """Removes the bytes at an address if the entry of them does not come to be staged."""
        try:
            yield
        except OutcomeUnknown:
            raise  # it may be staged
        except AnabranchError:
            self._blocks.delete([address])
            raise


def _address(repository: Repository, entry: Entry) -> str:
    return physical_address(repository.storage_namespace, entry.address, entry.address_type)


def _stat(blocks: BlockStore, storage_namespace: str, path: str, entry: Entry) -> Stat:
    full = physical_address(storage_namespace, entry.address, entry.address_type)
    return Stat(path, entry, blocks.qualify(full))
