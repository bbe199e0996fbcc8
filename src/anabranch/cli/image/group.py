"""`image`: build images from Lakefiles, list, show, compare, download and remove them.

The functions are imported when their command runs: building needs more than listing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from anabranch.cli.address import image_tag
from anabranch.cli.call import Call
from anabranch.cli.command import YES, Argument, Command, Group, Option, listing_options, positive

__all__ = ["COMMAND"]

TAG = Argument("TAG", "The image: its tag, or lakefs://image:TAG", parse=image_tag)


def _later(module: str, name: str = "run") -> Callable[[Call], int | None]:
    """Returns a command's function that imports the module and calls one of it."""

    def run(call: Call) -> int | None:
        function = getattr(import_module(f"anabranch.cli.image.{module}"), name)
        code: int | None = function(call)
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
                Option("--strict", "Refuse references that may mean another commit tomorrow"),
                Option("--allow-empty", "Take sources without objects"),
                Option("--dry-run", "Tell what would be built, and build nothing"),
                Option("--no-progress", "Do not show how far it is"),
            ),
            details="Nothing is copied: the image names the objects where they lie, and keeps "
            "them. docs/lakefile.md has the language. A long build goes on in the server, also "
            "when Ctrl-C ends the waiting.",
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
            "Show an image: what it holds, and from where",
            _later("description", "show"),
            arguments=(TAG,),
            options=(Option("--lakefile", "Print its Lakefile, and nothing else"),),
            examples=("image show v123", "image show v123 --lakefile"),
        ),
        Command(
            "diff",
            "Show how the objects of two images differ",
            _later("difference"),
            arguments=(
                Argument("LEFT", "An image: its tag, or lakefs://image:TAG", parse=image_tag),
                Argument("RIGHT", "Another", parse=image_tag),
            ),
            options=(Option("--prefix", "Show only paths that begin so", "PREFIX", default=""),),
            examples=("image diff v122 v123",),
        ),
        Command(
            "pull",
            "Download all objects of an image into a folder",
            _later("pull"),
            arguments=(TAG, Argument("DIR", "The folder, which is made if it is not there")),
            options=(
                Option(
                    "-p, --parallelism",
                    "How many transfers at a time",
                    "N",
                    parse=positive,
                    default=8,
                ),
            ),
            details="Each object is compared with its checksum. Run again, it fetches what is "
            "missing: files that are there and right are not fetched anew, and of one that was "
            "broken off only the rest. Other files in the folder stay as they are.",
            examples=("image pull v123 ./inputs",),
        ),
        Command(
            "rm",
            "Remove an image",
            _later("removal"),
            arguments=(TAG,),
            options=(YES,),
            details="The objects stay where they lie; garbage collection may now take those that "
            "nothing else keeps.",
            examples=("image rm v123",),
        ),
    ),
)
