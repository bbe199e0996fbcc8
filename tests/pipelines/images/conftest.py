"""A lake with two repositories, an external folder, and functions to build and read images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from support.faults.image_builds import ADMINISTRATOR, build_image

from anabranch.blocks.local.store import LocalBlocks
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.image import Image, ImagePlan
from anabranch.model.lakefile.parser import parse_lakefile
from anabranch.pipelines.images.assemble import ImageRequest


@pytest.fixture
def import_folder(tmp_path: Path) -> Path:
    """The folder that may be imported from."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.fixture
def lake(tmp_path: Path, import_folder: Path) -> Iterator[Lake]:
    """A lake with the empty repositories `sea` and `sky`."""
    blocks = LocalBlocks(
        tmp_path / "blocks",
        import_enabled=True,
        external_prefixes=[str(import_folder)],
        pre_signed=True,
    )
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        for name in ("sea", "sky"):
            lake.repositories.create(name, f"local://{name}")
        yield lake


class Images:
    """Commits objects, and builds and reads images."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def commit(self, repository: str, contents: Mapping[str, bytes | None]) -> str:
        """Commits changes on main, where None deletes an object; returns the commit's id."""
        for path, content in contents.items():
            if content is None:
                self._lake.objects.delete(repository, "main", path)
            else:
                self._lake.objects.upload(repository, "main", path, [content])
        return self._lake.commits.commit(
            repository, "main", committer="jane", message="more", metadata={}
        ).id

    def request(self, tag: str, text: str, **options: bool) -> ImageRequest:
        """Returns the request of a build."""
        return ImageRequest(
            tag=tag,
            lakefile=parse_lakefile(text),
            text=text,
            creator="jane",
            **options,
        )

    def build(self, tag: str, text: str, **options: bool) -> Image:
        """Builds an image, waits for the build, and returns the image."""
        return build_image(self._lake, tag, text, **options)

    def resolve(self, tag: str, text: str, **options: bool) -> ImagePlan:
        """Plans an image."""
        return self._lake.builds.resolve(self.request(tag, text, **options), ADMINISTRATOR)

    def contents(self, reference: str, repository: str = "image") -> dict[str, bytes]:
        """Returns the contents of all objects at a reference, by path."""
        page = self._lake.objects.listing(repository, reference, amount=1000)
        assert not page.has_more
        return {
            stat.path: self._lake.objects.open(repository, reference, stat.path).read_bytes()
            for stat in page.items
        }


@pytest.fixture
def images(lake: Lake) -> Images:
    """Functions for images of the lake."""
    return Images(lake)


@pytest.fixture
def fill(import_folder: Path) -> Callable[[Mapping[str, bytes]], None]:
    """Writes files outside of the lake."""

    def write(files: Mapping[str, bytes]) -> None:
        for name, content in files.items():
            path = import_folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    return write
