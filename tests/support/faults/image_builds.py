"""A process that builds images of a lake in a folder until it is killed.

Each line that it prints is the tag of an image that was built.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import ALLOW_ALL
from anabranch.library import Lake, open_lake
from anabranch.model.image import Image
from anabranch.model.lakefile.parser import parse_lakefile
from anabranch.pipelines.images.assemble import ImageRequest

__all__ = ["ADMINISTRATOR", "build_image", "builder"]

ADMINISTRATOR = Actor(username="admin", statements=(ALLOW_ALL,))
_PATIENCE_SECONDS = 120


def build_image(
    lake: Lake,
    tag: str,
    text: str,
    actor: Actor = ADMINISTRATOR,
    *,
    strict: bool = False,
    allow_empty: bool = False,
) -> Image:
    """Builds an image and waits for it. Raises AssertionError if that takes minutes."""
    request = ImageRequest(
        tag=tag,
        lakefile=parse_lakefile(text),
        text=text,
        creator=actor.username,
        strict=strict,
        allow_empty=allow_empty,
    )
    image = lake.builds.build(request, actor, wait_seconds=_PATIENCE_SECONDS).image
    assert image is not None
    return image


def builder(folder: Path, text: str, name: str) -> subprocess.Popen[str]:
    """Starts a process that builds images `NAME-1`, `NAME-2` and so on of a Lakefile."""
    command = [sys.executable, "-m", __name__, str(folder), text, name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _build_for_ever(folder: str, text: str, name: str) -> None:
    with open_lake(folder) as lake:
        for number in itertools.count(1):
            image = build_image(lake, f"{name}-{number}", text)
            sys.stdout.write(f"{image.tag}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _build_for_ever(*sys.argv[1:])
