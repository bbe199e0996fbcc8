"""Use cases of images: get, list, delete; and the commits that they reference.

An image keeps the objects of all its source commits alive, also of those that it has through other
images. Images are built in `pipelines/images`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.access.policies.permissions import ANY, Action, AllBelow, Permission, object_arn
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.images.records import image_from
from anabranch.catalog.images.repository import ImageRepository
from anabranch.errors import Conflict, NotFound
from anabranch.model.image import Image
from anabranch.model.page import Page, take_page
from anabranch.model.repositories.repository import Repository
from anabranch.model.uri import IMAGES, parse_uri
from anabranch.versioning.core import Core

__all__ = ["Images"]

_MAX_NAMED_TAGS = 5
_READ_ACTIONS = frozenset(
    {Action.READ_REPOSITORY, Action.READ_OBJECT, Action.LIST_OBJECTS, Action.READ_TAG}
)
"""Actions that clients need to read an image."""
_PAGE_SIZE = 1000


class Images:
    """Use cases of built images. The tables of images are stored in `namespace`, "" for a folder
    under the store's default prefix.
    """

    def __init__(self, core: Core, blocks: BlockStore, namespace: str = "") -> None:
        self._core = core
        self.repository = ImageRepository(core, blocks, namespace)

    def get(self, tag: str) -> Image:
        """Returns an image. Raises NotFound."""
        image = self.find(tag)
        if image is None:
            raise NotFound(f"image {tag} not found", kind="image_not_found")
        return image

    def find(self, tag: str) -> Image | None:
        """Returns an image, or None."""
        repository = self.repository.find_read_only()
        if repository is None:
            return None
        stored_tag = self._core.tags.find(repository, tag)
        return None if stored_tag is None else self._image(repository, tag, stored_tag.commit_id)

    def list(
        self,
        *,
        prefix: str = "",
        after: str = "",
        amount: int,
        labels: Mapping[str, str] = MappingProxyType({}),
        visible: Callable[[str], bool] = lambda _: True,
    ) -> Page[Image]:
        """Returns a page of images by tag: those that have all `labels` and whose tag is
        `visible`.
        """

        def matches(image: Image) -> bool:
            has_labels = all(image.plan.labels.get(key) == value for key, value in labels.items())
            return has_labels and visible(image.tag)

        found = filter(matches, self._all(prefix, after))
        return take_page(found, amount, lambda image: image.tag)

    def delete(self, tag: str) -> None:
        """Deletes an image by deleting its tag. Raises NotFound."""
        self.get(tag)
        self._core.tags.delete(self._core.repositories.get(IMAGES), tag)

    def permission_for_reading(
        self, permission: Permission, repository: str, reference: str
    ) -> Permission:
        """Returns the permission to check for reading from a repository at a reference: if the
        reference is an image, the permission to read that image suffices. Other permissions are
        returned unchanged.
        """
        if repository != IMAGES or permission.action not in _READ_ACTIONS:
            return permission
        if permission.action == Action.READ_REPOSITORY:
            return permission._replace(image=ANY)
        if reference and self.find(reference) is not None:
            return permission._replace(image=reference)
        return permission

    def readable_paths(
        self, actor: Actor, repository: str, reference: str, prefix: str
    ) -> ReadablePaths | None:
        """Returns the paths that a user may read from a repository at a reference, None if these
        are all that have the prefix. The permission to read an image covers all of its objects.
        """
        if actor.is_unlimited:
            return None
        everything = Permission(Action.READ_OBJECT, AllBelow(object_arn(repository, prefix)))
        if actor.may(self.permission_for_reading(everything, repository, reference)):
            return None
        return ReadablePaths(actor, repository)

    def pinned_commits(self, repository: Repository) -> Mapping[str, Sequence[str]]:
        """Returns the commits of a repository that images reference, with the images' tags."""
        held: dict[str, list[str]] = {}
        for image in self._all("", ""):
            for commit_id in self._sources(image, repository):
                held.setdefault(commit_id, []).append(image.tag)
        return held

    def require_unused(self, repository: Repository) -> None:
        """Raises Conflict, which names the images, if images reference objects of a repository."""
        tags = sorted({tag for tags in self.pinned_commits(repository).values() for tag in tags})
        if tags:
            more = f" and {len(tags) - _MAX_NAMED_TAGS} more" if len(tags) > _MAX_NAMED_TAGS else ""
            named = ", ".join(tags[:_MAX_NAMED_TAGS])
            raise Conflict(
                f"images reference objects of {repository.id}: {named}{more}",
                kind="held_by_images",
                hint="Delete these images first, or force the deletion: the objects stay in the "
                "store until you delete them there.",
            )

    def _all(self, prefix: str, after: str) -> Iterator[Image]:
        repository = self.repository.find_read_only()
        if repository is None:
            return
        page = self._core.tags.list(repository, prefix=prefix, after=after, amount=_PAGE_SIZE)
        while True:
            for tag in page.items:
                image = self._image(repository, tag.id, tag.commit_id)
                if image is not None:
                    yield image
            if not page.has_more:
                return
            page = self._core.tags.list(
                repository, prefix=prefix, after=page.next_offset, amount=_PAGE_SIZE
            )

    def _image(self, repository: Repository, tag: str, commit_id: str) -> Image | None:
        commit = self._core.commits.find(repository, commit_id)
        return None if commit is None else image_from(tag, commit)

    def _sources(self, image: Image, repository: Repository) -> set[str]:
        """Returns the source commits of an image in a repository, also through other images."""
        commit_ids: set[str] = set()
        seen: set[str] = set()
        pending = [image]
        images = self._core.repositories.get(IMAGES)
        while pending:
            for pin in pending.pop().plan.pins:
                if not pin.pinned.startswith("lakefs:") or pin.objects == 0:
                    continue
                uri = parse_uri(pin.pinned)
                if uri.repository == repository.id:
                    if self._core.commits.find(repository, uri.ref) is not None:
                        commit_ids.add(uri.ref)
                elif uri.repository == IMAGES and uri.ref not in seen:
                    seen.add(uri.ref)
                    layer = self._image(images, "", uri.ref)
                    pending += [] if layer is None else [layer]
        return commit_ids
