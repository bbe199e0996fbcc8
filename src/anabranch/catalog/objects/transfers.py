"""Use cases of transfers: move and copy an object or all objects under a prefix.

Within a repository only metadata are written. In another repository objects have bytes of their
own, which the store copies, unless the caller asks for a shallow transfer: its objects are lost
when the other repository is deleted with its storage namespace.

A path that ends in a slash is a prefix, and so must the other path be then, or empty.
"""

from __future__ import annotations

from anabranch.catalog.objects.byte_copies import Sharing
from anabranch.catalog.objects.objects import Objects
from anabranch.catalog.objects.write_checks import Precondition
from anabranch.catalog.protection import Protection
from anabranch.errors import AnabranchError, Invalid
from anabranch.model.names import is_prefix
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.objects.changes import destination_exists
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.transfers.entry_copies import EntryCopies
from anabranch.versioning.transfers.transfers import source_changed

__all__ = ["Transfers"]


class Transfers:
    """Moves and copies objects. All return the number of objects."""

    def __init__(self, core: Core, protection: Protection, objects: Objects) -> None:
        self._core = core
        self._protection = protection
        self._objects = objects

    def move(
        self,
        repository: str,
        branch: str,
        source: str,
        destination: str,
        *,
        source_branch: str = "",
        source_repository: str = "",
        force: bool = False,
        shallow: bool = False,
    ) -> int:
        """Moves an object or a prefix to a branch, from another or from itself, which is one step
        then.

        Raises NotFound if there is nothing to move, Invalid for a move into itself, and Conflict:
        destination_exists for objects that would be overwritten, unless `force`; source_changed if
        the objects could not be removed from the other branch.
        """
        stored_repository = self._require_writable(repository, branch)
        other = source_repository or repository, source_branch or branch
        if other != (repository, branch):
            if not _are_prefixes(source, destination):
                return self._move_object(
                    repository, branch, source, destination, other, force=force, shallow=shallow
                )
            return self._core.transfers.move_from(
                stored_repository,
                branch,
                destination,
                source_repository=self._require_writable(*other),
                source_branch=other[1],
                source=source,
                force=force,
                copies=self._copies(repository, other[0], shallow=shallow),
            )
        if _are_prefixes(source, destination):
            return self._core.transfers.move(
                stored_repository, branch, source, destination, force=force
            )
        self._core.changes.move(stored_repository, branch, source, destination, force=force)
        return 1

    def _move_object(
        self,
        repository: str,
        branch: str,
        source: str,
        destination: str,
        other: tuple[str, str],
        *,
        force: bool,
        shallow: bool,
    ) -> int:
        """Copies an object from another branch and removes it there, unless it has changed."""
        source_repository = self._require_writable(*other)
        original = self._core.objects.get(source_repository, other[1], source)
        self.copy(
            *(repository, branch, source, destination),
            source_repository=other[0],
            source_reference=other[1],
            force=force,
            shallow=shallow,
        )

        def unchanged(entry: Entry | None) -> AnabranchError | None:
            return None if entry == original else source_changed(other[1])

        conditions = {source: unchanged}
        for error in self._core.changes.delete(
            source_repository, other[1], [source], conditions
        ).values():
            raise error
        return 1

    def copy(
        self,
        repository: str,
        branch: str,
        source: str,
        destination: str,
        *,
        source_reference: str = "",
        source_repository: str = "",
        force: bool = False,
        shallow: bool = False,
    ) -> int:
        """Copies an object or a prefix of a reference, by default of the branch itself, to a
        branch. Raises as `move` does; a prefix may be copied under itself.
        """
        stored_repository = self._require_writable(repository, branch)
        if _are_prefixes(source, destination):
            return self._core.transfers.copy(
                stored_repository,
                branch,
                destination,
                source_repository=self._core.repositories.get(source_repository or repository),
                source_reference=source_reference or branch,
                source=source,
                force=force,
                copies=self._copies(repository, source_repository, shallow=shallow),
            )
        self._objects.copy(
            repository,
            branch,
            destination,
            source_path=source,
            source_ref=source_reference,
            source_repository=source_repository,
            precondition=None if force else _require_none(destination),
            shallow=shallow,
            sharing=Sharing.OWN_OBJECTS,
        )
        return 1

    def _copies(self, repository: str, other: str, *, shallow: bool) -> EntryCopies | None:
        """Returns what copies bytes from another repository, None if no bytes are copied."""
        if shallow or other in ("", repository):
            return None
        return self._objects.byte_copies

    def _require_writable(self, repository: str, branch: str) -> Repository:
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=False)
        self._protection.require_writable(stored_repository, branch)
        return stored_repository


def _require_none(path: str) -> Precondition:
    """Returns a precondition that the path has no object yet."""

    def check(entry: Entry | None) -> None:
        if entry is not None:
            raise destination_exists(path)

    return check


def _are_prefixes(source: str, destination: str) -> bool:
    """Returns whether both paths are prefixes. Raises Invalid if only one is."""
    prefixes = [is_prefix(path) for path in (source, destination)]
    if prefixes[0] != prefixes[1]:
        raise Invalid(
            f"{source!r} and {destination!r}: either both paths or none must end in a slash",
            kind="path_and_prefix",
            hint="A path that ends in a slash stands for all objects under it.",
        )
    return prefixes[0]
