"""The part of a lake that concerns objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from anabranch.errors import AnabranchError
from anabranch.lake.object_file import ObjectFile
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE
from anabranch.model.objects.stat import CommonPrefix, Stat

__all__ = ["ObjectListing", "Objects"]


class ObjectListing(Protocol):
    """A page of a listing."""

    @property
    def items(self) -> list[Stat | CommonPrefix]:
        """The objects and common prefixes, in order of their paths' bytes."""

    @property
    def has_more(self) -> bool:
        """Whether more follow."""

    @property
    def next_offset(self) -> str:
        """The `after` of the next page, empty if there is none."""


@runtime_checkable
class Objects(Protocol):
    """The objects of repositories."""

    def stat(self, repository: str, reference: str, path: str) -> Stat:
        """Returns the properties of the object at a path. Raises NotFound."""

    def open(self, repository: str, reference: str, path: str) -> ObjectFile:
        """Returns the object at a path, open for reading. Raises NotFound."""

    def read_many(
        self, repository: str, reference: str, paths: Sequence[str]
    ) -> list[bytes | AnabranchError]:
        """Returns the contents of objects, in order, or the error in place of one: up to 1,000 at a
        time, each time as they are at one moment. Raises NotFound for the reference, Denied if one
        of the paths may not be read.
        """

    def listing(
        self,
        repository: str,
        reference: str,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> ObjectListing:
        """Returns a page of the objects at a reference."""

    def pages(
        self, repository: str, reference: str, *, prefix: str = "", delimiter: str = ""
    ) -> Iterator[ObjectListing]:
        """Yields all pages of a listing. A branch may change between two of them."""

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
        storage_class: str = "",
        force: bool = False,
    ) -> Stat:
        """Stores an object on a branch, uncommitted, whole or not at all. Raises PreconditionFailed
        if `if_absent` is set and there is an object, and what `chunks` raises.
        """

    def copy(
        self,
        repository: str,
        branch: str,
        destination_path: str,
        *,
        source_path: str,
        source_ref: str = "",
        source_repository: str = "",
        if_absent: bool = False,
        force: bool = False,
        shallow: bool = False,
    ) -> Stat:
        """Copies an object from `source_ref`, by default the branch itself, to a path of the
        branch. A `shallow` copy refers to the bytes of the source, wherever they are.
        """

    def delete(self, repository: str, branch: str, path: str, *, force: bool = False) -> None:
        """Deletes an object from a branch, if it exists."""

    def delete_many(
        self, repository: str, branch: str, paths: Sequence[str], *, force: bool = False
    ) -> list[tuple[str, AnabranchError]]:
        """Deletes up to 1,000 objects in one step; returns the paths that were not deleted, with
        the reason.
        """

    def set_user_metadata(
        self,
        repository: str,
        branch: str,
        path: str,
        metadata: Mapping[str, str],
        *,
        force: bool = False,
    ) -> None:
        """Replaces an object's user metadata. Raises NotFound."""
