"""`image`: build images from Lakefiles, list, show, compare, download and remove them.

Each function is imported when its command runs, because building needs more modules than listing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from anabranch.cli.framework.address import image_tag
from anabranch.cli.framework.command import (
    YES,
    Argument,
    Command,
    Group,
    Option,
    listing_options,
    positive,
)
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND"]

TAG = Argument("TAG", "The image: its tag, or lakefs://image:TAG", parse=image_tag)


def _later(module: str, name: str = "run") -> Callable[[CommandContext], int | None]:
    """Returns a command's function that imports the module and calls one of its functions."""

    def run(context: CommandContext) -> int | None:
        function = getattr(import_module(f"anabranch.cli.commands.image.{module}"), name)
        code: int | None = function(context)
        return code

    return run


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(text)
    return name, value


COMMAND = Group(
    "image",
    "Build images from Lakefiles; read and remove them",
    (
        Command(
            "build",
            "Build an image from a Lakefile",
            _later("build"),
            options=(
                Option("-t, --tag", "The tag of the image", "TAG", parse=image_tag, required=True),
                Option(
                    "-f, --file", "The Lakefile, - for standard input", "FILE", default="Lakefile"
                ),
                Option(
                    "--arg", "The value of a build argument", "NAME=VALUE", parse=_pair, repeat=True
                ),
                Option("--strict", "Reject references that can move to another commit"),
                Option("--allow-empty", "Allow sources without objects"),
                Option("--dry-run", "Show what would be built, without building it"),
                Option("--no-progress", "Do not show the progress"),
            ),
            details="Nothing is copied: the image refers to the objects at their addresses, and "
            "keeps them. docs/lakefile.md describes the language. A long build continues in "
            "the server, even if Ctrl-C stops the command.",
            examples=(
                "image build -t v123",
                "image build -t v123 -f jobs/Lakefile --arg DATE=2024-05-06 --strict",
                "image build -t v124 --dry-run",
            ),
        ),
        Command(
            "ls",
            "List images",
            _later("listing"),
            options=(
                *listing_options("images"),
                Option(
                    "--label",
                    "Show only images with this label",
                    "KEY=VALUE",
                    parse=_pair,
                    repeat=True,
                ),
            ),
            examples=("image ls", "image ls --label author=oz.katz"),
        ),
        Command(
            "show",
            "Show an image: its contents and their sources",
            _later("description", "show"),
            arguments=(TAG,),
            options=(Option("--lakefile", "Print only its Lakefile"),),
            examples=("image show v123", "image show v123 --lakefile"),
        ),
        Command(
            "diff",
            "Show how the objects of two images differ",
            _later("diff"),
            arguments=(
                Argument("LEFT", "An image: its tag, or lakefs://image:TAG", parse=image_tag),
                Argument("RIGHT", "Another", parse=image_tag),
            ),
            options=(Option("--prefix", "Show only paths with this prefix", "PREFIX", default=""),),
            examples=("image diff v122 v123",),
        ),
        Command(
            "pull",
            "Download all objects of an image into a folder",
            _later("pull"),
            arguments=(TAG, Argument("DIR", "The folder; it is created if it does not exist")),
            options=(
                Option(
                    "-p, --parallelism",
                    "The number of concurrent transfers",
                    "N",
                    parse=positive,
                    default=8,
                ),
            ),
            details="Each object is compared with its checksum, if that is the MD5 of its bytes. "
            "If run again, it downloads what is missing: correct files are not downloaded again, "
            "and of a transfer that broke off only the rest. Other files in the folder do not "
            "change.",
            examples=("image pull v123 ./inputs",),
        ),
        Command(
            "rm",
            "Remove an image",
            _later("rm"),
            arguments=(TAG,),
            options=(YES,),
            details="The objects stay at their addresses; garbage collection may now remove those "
            "that nothing else refers to.",
            examples=("image rm v123",),
        ),
    ),
)
