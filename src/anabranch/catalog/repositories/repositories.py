"""Use cases of repositories: create, get, list, delete, metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from anabranch.blocks.admitted_addresses import source_spellings
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.namespaces import kept_namespace
from anabranch.catalog.images.images import Images
from anabranch.catalog.sample import files
from anabranch.errors import (
    AlreadyExists,
    Busy,
    Gone,
    Invalid,
    NotFound,
    StoreRefused,
)
from anabranch.model.names import check_default_branch, check_repository, check_storage_namespace
from anabranch.model.page import Page
from anabranch.model.repositories.deleted_repository import DeletedRepository
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core

__all__ = ["Repositories"]

MARK_KEY = "_lakefs/dummy"
_MAX_ATTEMPTS = 100
_MARK_TEXT = b"this is dummy data - created by lakeFS to check accessibility\n"


class Repositories:
    """Use cases of repositories."""

    def __init__(self, core: Core, blocks: BlockStore, images: Images) -> None:
        self._core = core
        self._blocks = blocks
        self._images = images

    def create(
        self,
        name: str,
        storage_namespace: str | None = None,
        *,
        default_branch: str = "main",
        bare: bool = False,
        read_only: bool = False,
        sample_data: bool = False,
        storage_id: str = "",
        committer: str = "",
    ) -> Repository:
        """Creates a repository in a storage namespace of its own, by default the one of its name
        below the store's default prefix.

        Raises AlreadyExists if the name is taken; Invalid for an invalid name, and for a namespace
        that is in use or cannot be reached.
        """
        check_repository(name)
        check_default_branch(default_branch, bare=bare)
        if storage_namespace is None:
            storage_namespace = self._default_namespace(name)
        check_storage_namespace(storage_namespace)
        self._require_absent(name)
        if storage_id:
            raise Invalid(f"no storage named {storage_id!r}: invalid value", kind="invalid_storage")
        namespace = self._blocks.namespace(storage_namespace)
        create = partial(
            self._core.repositories.create,
            *(name, namespace),
            default_branch=default_branch,
            bare=bare,
            read_only=read_only,
            storage_id=storage_id,
            written_namespace=storage_namespace,
        )
        if bare or read_only:
            repository = create()
        else:
            repository = self._create_marked(name, namespace, storage_namespace, create)
        if sample_data and not bare:
            files.upload(self._core, self._blocks, repository, committer)
            self._core.protection.replace(repository, [default_branch], if_match="")
        return repository

    def _default_namespace(self, name: str) -> str:
        namespace = self._blocks.config.default_namespace(name)
        if not namespace:
            raise Invalid(
                f"no storage namespace is given for {name!r}",
                kind="storage_namespace_missing",
                hint="Name one, or set blockstore.default_namespace_prefix.",
            )
        return namespace

    def get(self, name: str) -> Repository:
        """Returns a repository. Raises NotFound, and Gone while it is being deleted."""
        return self._core.repositories.get(name)

    def list(
        self, *, prefix: str = "", after: str = "", amount: int, search: str = ""
    ) -> Page[Repository]:
        """Returns a page of repositories by name; only names that contain `search`."""
        return self._core.repositories.list(
            prefix=prefix, after=after, amount=amount, search=search
        )

    def delete(
        self, name: str, *, force: bool = False, instance_uid: str = "", forget: bool = False
    ) -> None:
        """Deletes a repository, the one with `instance_uid` if that is given; objects stay in the
        store. It can be restored for as many days as its operations can be undone, unless it is to
        `forget`: then its references and staged changes are removed at once.

        Without `force`, raises Conflict if images reference any of its objects.
        """
        if not force:
            with suppress(Gone):  # an interrupted deletion is completed
                self._images.require_unused(self._core.repositories.get(name))
        self._core.repositories.delete(name, force=force, instance_uid=instance_uid, forget=forget)

    def deleted(self) -> Sequence[DeletedRepository]:
        """Returns the deleted repositories that can be restored, by name, then as they were
        deleted.
        """
        deleted = self._core.repositories.deleted.all()
        return sorted(deleted, key=lambda each: (each.repository.id, each.deleted_at))

    def deletion(self, name: str, *, instance_uid: str = "") -> DeletedRepository:
        """Returns the last deleted repository of a name, or that with an id. Raises NotFound."""
        return self._core.repositories.deleted.read(name, instance_uid).deleted

    def restore(self, name: str, *, instance_uid: str = "") -> Repository:
        """Makes the last deleted repository of a name, or that with an id, what it was, and returns
        it: references, settings, staged changes, pull requests and the operation log.

        Raises NotFound, AlreadyExists if there is another repository of its name, and Conflict if
        another one has data in its storage namespace, or these are being purged.
        """
        return self._core.repositories.deleted.restore(name, instance_uid)

    def forget(self, name: str, *, instance_uid: str = "") -> None:
        """Removes what is kept of the last deleted repository of a name, or of that with an id: it
        can then not be restored. Raises NotFound.
        """
        deleted = self._core.repositories.deleted.read(name, instance_uid)
        self._core.repositories.forget(deleted)

    def forget_old(self) -> int:
        """Forgets deleted repositories that were kept long enough; returns their number."""
        return self._core.repositories.forget_old()

    def equivalent_namespaces(self, storage_namespace: str) -> Sequence[str]:
        """Returns a storage namespace as written and, if it differs, in its stored form. Policies
        are checked for both, so that no spelling evades one.
        """
        stored_form = kept_namespace(storage_namespace, self._blocks)
        same = stored_form.rstrip("/") == storage_namespace.rstrip("/")
        return [storage_namespace] if same else [storage_namespace, stored_form]

    def equivalent_sources(self, address: str) -> Sequence[str]:
        """Returns an address or a prefix to import from in all spellings that policies may use."""
        return source_spellings(self._blocks, address)

    def metadata(self, name: str) -> dict[str, str]:
        """Returns the metadata of a repository."""
        return self._core.repositories.metadata(self.get(name))

    def set_metadata(self, name: str, metadata: Mapping[str, str]) -> None:
        """Sets keys of a repository's metadata; other keys are unchanged."""
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

    def _create_marked(
        self, name: str, namespace: str, written_namespace: str, create: Callable[..., Repository]
    ) -> Repository:
        """Marks a namespace and creates a repository there, on condition that the mark was not
        removed meanwhile: purges remove it, and later repositories have their own.
        """
        repositories = self._core.repositories
        for _ in range(_MAX_ATTEMPTS):
            unclaimed = repositories.left.require_unclaimed(namespace)
            begun = repositories.begun.begin(name, namespace)
            self._mark_namespace(namespace, written_namespace, begun.text)
            try:
                return create(conditions=(begun.record, unclaimed))
            except Busy as error:
                if error.kind != "creation_outdated":
                    raise
        raise Busy("too many processes are creating a repository of this name")

    def _mark_namespace(self, namespace: str, written_namespace: str, text: str) -> None:
        """Marks a namespace as used by writing an object, which stays there if the creation fails
        later: the next attempt finds its own. Raises Invalid if another object exists or the store
        refuses it.
        """
        address = f"{namespace.rstrip('/')}/{MARK_KEY}"
        mark = _MARK_TEXT + text.encode()
        try:
            self._blocks.put(address, [mark], if_absent=True)
        except AlreadyExists as error:
            if self._blocks.read(address) == mark:
                return
            raise Invalid(
                "failed to create repository: found lakeFS objects in the storage "
                f"(:{written_namespace}) key({MARK_KEY}): storage namespace already in use",
                kind="storage_namespace_in_use",
                hint="Give each repository a storage namespace of its own.",
            ) from error
        except StoreRefused as error:
            raise Invalid(
                f"failed to create repository: failed to access storage: {error.message}",
                kind=error.kind,
                hint=error.hint,
            ) from error
