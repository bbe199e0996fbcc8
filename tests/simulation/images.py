"""Builds of images in a simulated world: of what a branch has, and of commits that have expired.

An acknowledged image has what its plan has pinned. The state of a build says that it is complete if
and only if there is its tag; of two builds of a tag one makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simulation.garbage import expect
from simulation.stores import TURNS

from anabranch.errors import AnabranchError, OutcomeUnknown
from anabranch.pipelines.images.layers import PreparedLayer
from anabranch.pipelines.images.overlay import Written, write_overlay
from anabranch.pipelines.jobs.progress import Progress

if TYPE_CHECKING:
    from simulation.client import Client

__all__ = ["build_image", "build_of_expired", "check_images"]

REPOSITORY, IMAGES = "sea", "image"
ALL = 1000
_REFUSED = {"image_already_exists", "tag_already_exists", "already_exists", "nothing_to_add"}
_COLLECTED = {"commit_expired", "sweep_under_way", "pin_lost"}


def build_image(client: Client) -> None:
    """Builds an image of the objects on `main`, as a tag that others want, too, or of its own."""
    random = client.world.random
    owner = random.choice(("wanted", client.name))
    _build(client, f"{owner}-{random.randrange(3)}", "main")


def build_of_expired(client: Client) -> None:
    """Builds an image of a commit that has expired. All of its objects are read in the end."""
    tag = f"old-{client.name}-{client.world.random.randrange(3)}"
    _build(client, tag, client.world.leavings.commit_id, _COLLECTED)


def _build(client: Client, tag: str, source: str, kinds: set[str] | None = None) -> None:
    lakefile = f"ADD lakefs://{REPOSITORY}/{source}/ data/\n"

    def overlay(layers: Sequence[PreparedLayer], folder: str, progress: Progress) -> Written:
        client.world.let_others_go_on(TURNS)  # large trees take a while
        return write_overlay(layers, folder, progress)

    try:
        image = client.lake.images.build(tag, lakefile, creator=client.name, overlay=overlay)
    except OutcomeUnknown:
        return
    except AnabranchError as error:
        if client.server.alive:
            expect(error, _REFUSED | (kinds or set()))
        return
    client.claims.add(f"{IMAGES}:{tag}")
    client.images[tag] = image.commit_id


def check_images(lake: Any, clients: list[Client]) -> None:
    """Raises AssertionError if an image is missing, differs from its sources or its state."""
    repository = lake.images.repository.find()
    if repository is None:
        assert not any(client.images for client in clients)
        return
    tags = {each.id: each.commit_id for each in lake.tags.list(IMAGES, amount=ALL).items}
    for client in clients:
        assert client.images.items() <= tags.items(), f"{client.images} of {tags}"
    done = [each.status for each in lake.core.image_builds.all(repository) if each.status.completed]
    made = sorted((each.id.partition("/")[0], each.commit.id) for each in done)
    assert made == sorted(tags.items()), f"states: {made}, tags: {tags}"
    for tag in tags:
        (pin,) = lake.images.get(tag).plan.pins
        source = pin.pinned.removeprefix(f"lakefs://{REPOSITORY}/").partition("/")[0]
        expected = {f"data/{path}": where for path, where in _objects(lake, REPOSITORY, source)}
        assert dict(_objects(lake, IMAGES, tag)) == expected, f"{tag} is not what {pin} was"
        for path in expected:
            b"".join(lake.objects.open(IMAGES, tag, path).chunks())


def _objects(lake: Any, repository: str, reference: str) -> list[tuple[str, str]]:
    items = lake.objects.listing(repository, reference, amount=ALL).items
    return [(item.path, item.physical_address) for item in items]
