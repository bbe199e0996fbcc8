"""The repository `image`, whose tags are images: read-only, and made when the first is built."""

from __future__ import annotations

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AlreadyExists, Conflict, Gone, Invalid, NotFound
from anabranch.model.repository import Repository
from anabranch.model.uri import IMAGES
from anabranch.versioning.core import Core

__all__ = ["ImageRepository"]

_BRANCH = "main"


class ImageRepository:
    """Finds and makes the repository. `namespace` is where its tables go; "" for a place beneath
    the store's default prefix.
    """

    def __init__(self, core: Core, blocks: BlockStore, namespace: str = "") -> None:
        self._core = core
        self._blocks = blocks
        self._namespace = namespace

    def found_if_ours(self) -> Repository | None:
        """Returns the repository, None where there is none, or one for writing under its name."""
        try:
            repository = self._core.repositories.get(IMAGES)
        except (NotFound, Gone):
            return None
        return repository if repository.read_only else None

    def find(self) -> Repository | None:
        """Returns the repository, None before the first image. Raises Conflict where another
        repository has its name, Gone while it is being deleted.
        """
        try:
            repository = self._core.repositories.get(IMAGES)
        except NotFound:
            return None
        if not repository.read_only:
            raise Conflict(
                f"the repository {IMAGES} is one for writing, so there can be no images",
                kind="images_taken",
                hint=f"Images need the name {IMAGES}.",
            )
        return repository

    def found_or_made(self) -> Repository:
        """Returns the repository, which is made if it is not there."""
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
        """Returns where the tables of images go. Raises Invalid where nothing says so."""
        prefix = self._blocks.config.default_namespace_prefix
        namespace = self._namespace or (f"{prefix.rstrip('/')}/{IMAGES}" if prefix else "")
        if not namespace or not self._blocks.accepts(namespace):
            raise Invalid(
                f"no storage namespace for images: {namespace!r}",
                kind="invalid_settings",
                hint="Set images.storage_namespace, or blockstore.default_namespace_prefix.",
            )
        return namespace
