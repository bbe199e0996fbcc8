"""The repository `image`, whose tags are images: read-only, created with the first image."""

from __future__ import annotations

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AlreadyExists, Conflict, Gone, Invalid, NotFound
from anabranch.model.repositories.repository import Repository
from anabranch.model.uri import IMAGES
from anabranch.versioning.core import Core

__all__ = ["ImageRepository"]

_BRANCH = "main"


class ImageRepository:
    """Finds and creates the repository. Its tables are stored in `namespace`, "" for a folder under
    the store's default prefix.
    """

    def __init__(self, core: Core, blocks: BlockStore, namespace: str = "") -> None:
        self._core = core
        self._blocks = blocks
        self._namespace = namespace

    def find_read_only(self) -> Repository | None:
        """Returns the repository, None if it does not exist or is writable, thus a user's own."""
        try:
            repository = self._core.repositories.get(IMAGES)
        except (NotFound, Gone):
            return None
        return repository if repository.read_only else None

    def find(self) -> Repository | None:
        """Returns the repository, None before the first image. Raises Conflict if a writable
        repository has its name, Gone while it is being deleted.
        """
        try:
            repository = self._core.repositories.get(IMAGES)
        except NotFound:
            return None
        if not repository.read_only:
            raise Conflict(
                f"the repository {IMAGES} is writable, so images cannot be stored in it",
                kind="images_taken",
                hint=f"Images need the repository name {IMAGES}.",
            )
        return repository

    def get_or_create(self) -> Repository:
        """Returns the repository; creates it if it does not exist."""
        repository = self.find()
        if repository is not None:
            return repository
        try:
            namespace = self.namespace()
            return self._core.repositories.create(
                IMAGES,
                self._blocks.namespace(namespace),
                default_branch=_BRANCH,
                read_only=True,
                written_namespace=namespace,
            )
        except AlreadyExists:
            return self._core.repositories.get(IMAGES)

    def namespace(self) -> str:
        """Returns the storage namespace of the tables. Raises Invalid if none is configured."""
        namespace = self._namespace or self._blocks.config.default_namespace(IMAGES)
        if not namespace or not self._blocks.accepts(namespace):
            raise Invalid(
                f"no storage namespace for images: {namespace!r}",
                kind="invalid_settings",
                hint="Set images.storage_namespace, or blockstore.default_namespace_prefix.",
            )
        return namespace
