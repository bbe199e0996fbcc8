"""Images: described, listed, deleted; and what they hold of other repositories.

An image holds the objects of every commit that it is from, be it by way of other images. How one is
built stands in `pipelines/images`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from anabranch.access.permissions import ANY, Action, Permission
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.image_records import image_from
from anabranch.catalog.image_repository import ImageRepository
from anabranch.errors import Conflict, NotFound
from anabranch.model.image import Image
from anabranch.model.page import Page
from anabranch.model.repository import Repository
from anabranch.model.uri import IMAGES, parse_uri
from anabranch.versioning.core import Core

__all__ = ["Images"]

_SHOWN = 5
_READING = frozenset(
    {Action.READ_REPOSITORY, Action.READ_OBJECT, Action.LIST_OBJECTS, Action.READ_TAG}
)
"""What reading an image is, by whatever client."""
_PAGE = 1000


class Images:
    """The use cases of images that are built. `namespace` is where the tables of images go, ""
    for a place beneath the store's default prefix.
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
        repository = self.repository.found_if_ours()
        if repository is None:
            return None
        found = self._core.tags.find(repository, tag)
        return None if found is None else self._image(repository, tag, found.commit_id)

    def list(
        self,
        *,
        prefix: str = "",
        after: str = "",
        amount: int,
        labels: Mapping[str, str] = MappingProxyType({}),
        shown: Callable[[str], bool] = lambda _: True,
    ) -> Page[Image]:
        """Returns a page of images by tag: those that have all the labels, and whose tag may be
        `shown`.
        """
        items: list[Image] = []
        for image in self._all(prefix, after):
            has = all(image.plan.labels.get(key) == value for key, value in labels.items())
            if not has or not shown(image.tag):
                continue
            if len(items) == amount:
                return Page(items, has_more=True, next_offset=items[-1].tag)
            items.append(image)
        return Page(items)

    def delete(self, tag: str) -> None:
        """Deletes an image: its tag goes. Raises NotFound."""
        self.get(tag)
        self._core.tags.delete(self._core.repositories.get(IMAGES), tag)

    def readable(self, permission: Permission, repository: str, reference: str) -> Permission:
        """Returns a permission to read from a repository at a reference; if that is an image,
        who may read the image has it, too. Any other permission is returned as it is.
        """
        if repository != IMAGES or permission.action not in _READING:
            return permission
        if permission.action == Action.READ_REPOSITORY:
            return permission._replace(image=ANY)
        if reference and self.find(reference) is not None:
            return permission._replace(image=reference)
        return permission

    def pinned_commits(self, repository: Repository) -> Mapping[str, Sequence[str]]:
        """Returns the commits of a repository that images hold, with the tags of these images."""
        held: dict[str, list[str]] = {}
        for image in self._all("", ""):
            for commit_id in self._sources(image, repository):
                held.setdefault(commit_id, []).append(image.tag)
        return held

    def require_free(self, repository: Repository) -> None:
        """Raises Conflict, which names the images, if any hold objects of a repository."""
        tags = sorted({tag for tags in self.pinned_commits(repository).values() for tag in tags})
        if tags:
            more = f" and {len(tags) - _SHOWN} more" if len(tags) > _SHOWN else ""
            raise Conflict(
                f"images hold objects of {repository.id}: {', '.join(tags[:_SHOWN])}{more}",
                kind="held_by_images",
                hint="Delete these images first, or force the deletion: the objects stay in the "
                "store until somebody removes them there.",
            )

    def _all(self, prefix: str, after: str) -> Iterator[Image]:
        repository = self.repository.found_if_ours()
        if repository is None:
            return
        page = self._core.tags.list(repository, prefix=prefix, after=after, amount=_PAGE)
        while True:
            for tag in page.items:
                image = self._image(repository, tag.id, tag.commit_id)
                if image is not None:
                    yield image
            if not page.has_more:
                return
            page = self._core.tags.list(
                repository, prefix=prefix, after=page.next_offset, amount=_PAGE
            )

    def _image(self, repository: Repository, tag: str, commit_id: str) -> Image | None:
        commit = self._core.commits.find(repository, commit_id)
        return None if commit is None else image_from(tag, commit)

    def _sources(self, image: Image, repository: Repository) -> set[str]:
        """Returns the commits of a repository that an image is from, also by way of others."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting = [image]
        images = self._core.repositories.get(IMAGES)
        while waiting:
            for pin in waiting.pop().plan.pins:
                if not pin.pinned.startswith("lakefs:") or pin.objects == 0:
                    continue
                place = parse_uri(pin.pinned)
                if place.repository == repository.id:
                    if self._core.commits.find(repository, place.ref) is not None:
                        found.add(place.ref)
                elif place.repository == IMAGES and place.ref not in seen:
                    seen.add(place.ref)
                    below = self._image(images, "", place.ref)
                    waiting += [] if below is None else [below]
        return found
