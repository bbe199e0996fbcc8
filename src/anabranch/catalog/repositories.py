"""Repositories: created in a storage namespace of their own, described, deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.namespaces import kept_namespace
from anabranch.catalog import sample
from anabranch.catalog.images import Images
from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    Gone,
    Invalid,
    NotFound,
    OutcomeUnknown,
    StoreRefused,
)
from anabranch.model.names import check_branch, check_repository, check_storage_namespace
from anabranch.model.page import Page
from anabranch.model.repository import Repository
from anabranch.versioning.core import Core

__all__ = ["Repositories"]

DUMMY = "_lakefs/dummy"
_DUMMY_TEXT = b"this is dummy data - created by lakeFS to check accessibility"


class Repositories:
    """The use cases of repositories."""

    def __init__(self, core: Core, blocks: BlockStore, images: Images) -> None:
        self._core = core
        self._blocks = blocks
        self._images = images

    def create(
        self,
        name: str,
        storage_namespace: str,
        *,
        default_branch: str = "main",
        bare: bool = False,
        read_only: bool = False,
        sample_data: bool = False,
        storage_id: str = "",
        committer: str = "",
    ) -> Repository:
        """Creates a repository in a storage namespace that no other uses.

        Raises AlreadyExists if the name is taken; Invalid for names that cannot be, and for a
        namespace that is in use or cannot be reached.
        """
        check_repository(name)
        check_branch(default_branch)
        check_storage_namespace(storage_namespace)
        self._require_absent(name)
        if storage_id:
            raise Invalid(f"no storage named {storage_id!r}: invalid value", kind="invalid_storage")
        namespace = self._blocks.namespace(storage_namespace)
        claim = None if bare or read_only else self._claim(namespace, storage_namespace)
        try:
            repository = self._core.repositories.create(
                name,
                namespace,
                default_branch=default_branch,
                bare=bare,
                read_only=read_only,
                storage_id=storage_id,
                written_namespace=storage_namespace,
            )
        except OutcomeUnknown:
            raise  # it may be there
        except AnabranchError:
            if claim is not None:
                self._blocks.delete([claim])
            raise
        if sample_data and not bare:
            sample.upload(self._core, self._blocks, repository, committer)
            self._core.protection.replace(repository, [default_branch], if_match="")
        return repository

    def get(self, name: str) -> Repository:
        """Returns a repository. Raises NotFound, and Gone while it is being deleted."""
        return self._core.repositories.get(name)

    def list(
        self, *, prefix: str = "", after: str = "", amount: int, search: str = ""
    ) -> Page[Repository]:
        """Returns a page of repositories by name, those that contain `search`."""
        return self._core.repositories.list(
            prefix=prefix, after=after, amount=amount, search=search
        )

    def delete(self, name: str, *, force: bool = False) -> None:
        """Deletes a repository's references and staged changes; objects stay in the store.

        Raises Conflict without `force` where images hold any of its objects.
        """
        if not force:
            with suppress(Gone):  # its deletion was interrupted, and is done to the end
                self._images.require_free(self._core.repositories.get(name))
        self._core.repositories.delete(name, force=force)

    def spellings(self, storage_namespace: str) -> Sequence[str]:
        """Returns a storage namespace as it is written and, if other texts mean the same place, as
        addresses in it begin: no spelling leads around a policy about the place.
        """
        kept = kept_namespace(storage_namespace, self._blocks)
        same = kept.rstrip("/") == storage_namespace.rstrip("/")
        return [storage_namespace] if same else [storage_namespace, kept]

    def metadata(self, name: str) -> dict[str, str]:
        """Returns a repository's own keys and values."""
        return self._core.repositories.metadata(self.get(name))

    def set_metadata(self, name: str, metadata: Mapping[str, str]) -> None:
        """Sets keys of a repository's metadata; others stay."""
        self._core.repositories.change_metadata(self.get(name), put=metadata)

    def delete_metadata(self, name: str, keys: Sequence[str]) -> None:
        """Removes keys of a repository's metadata."""
        self._core.repositories.change_metadata(self.get(name), remove=keys)

    def _require_absent(self, name: str) -> None:
        try:
            self.get(name)
        except NotFound:
            return
        except Gone:
            pass
        raise AlreadyExists(
            "error creating repository: not unique", kind="repository_already_exists"
        )

    def _claim(self, namespace: str, written: str) -> str:
        """Marks a namespace as used; returns the mark's address. Raises Invalid if it is marked
        already, or the store will not have it marked.
        """
        address = f"{namespace.rstrip('/')}/{DUMMY}"
        try:
            self._blocks.put(address, [_DUMMY_TEXT], create=True)
        except AlreadyExists as error:
            raise Invalid(
                "failed to create repository: found lakeFS objects in the storage "
                f"(:{written}) key({DUMMY}): storage namespace already in use",
                kind="storage_namespace_in_use",
                hint="Choose a namespace of its own for each repository.",
            ) from error
        except StoreRefused as error:
            raise Invalid(
                f"failed to create repository: failed to access storage: {error.message}",
                kind=error.kind,
                hint=error.hint,
            ) from error
        return address
