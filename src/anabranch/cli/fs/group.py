"""`fs`: list, read, upload, download and remove objects.

The functions are imported when their command runs: downloading needs more than listing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from anabranch.cli.address import object_address, prefix_address
from anabranch.cli.call import Call
from anabranch.cli.command import Argument, Command, Group, Option, positive

__all__ = ["COMMAND"]

OBJECT = Argument("OBJECT", "The object: lakefs://REPOSITORY/REF/PATH", parse=object_address)
PLACE = Argument(
    "PLACE",
    "An object, or with --recursive all below a path: lakefs://REPOSITORY/REF/PATH",
    parse=prefix_address,
)
_RECURSIVE = "-r, --recursive"


def _later(module: str) -> Callable[[Call], int | None]:
    """Returns a command's function that imports the module and calls its `run`."""

    def run(call: Call) -> int | None:
        code: int | None = import_module(f"anabranch.cli.fs.{module}").run(call)
        return code

    return run


def _parallelism(default: int) -> Option:
    return Option(
        "-p, --parallelism", "How many transfers at a time", "N", parse=positive, default=default
    )


COMMAND = Group(
    "fs",
    "List, read, upload, download and remove objects",
    (
        Command(
            "ls",
            "List objects",
            _later("listing"),
            arguments=(
                Argument(
                    "PLACE", "Where: lakefs://REPOSITORY/REF or …/REF/PATH", parse=prefix_address
                ),
            ),
            options=(
                Option(_RECURSIVE, "List objects in folders of folders, too"),
                Option("--amount", "Show at most N objects; all by default", "N", parse=positive),
                Option("--after", "Show only objects after this one", "PATH", default=""),
            ),
            details="Folders are what paths have in common up to a slash. A path that does not "
            "end with a slash lists all that begins so.",
            examples=("fs ls lakefs://flights/main/", "fs ls -r lakefs://flights/main/month=05/"),
        ),
        Command(
            "stat",
            "Show what is known of an object",
            _later("stat"),
            arguments=(OBJECT,),
            examples=("fs stat lakefs://flights/main/month=05/part-0.parquet",),
        ),
        Command(
            "cat",
            "Print the content of an object",
            _later("cat"),
            arguments=(OBJECT,),
            examples=("fs cat lakefs://flights/main/README.md",),
        ),
        Command(
            "upload",
            "Upload a file, a folder or what comes in by a pipe",
            _later("upload"),
            arguments=(
                Argument(
                    "PLACE",
                    "The object to write, or with --recursive the folder: "
                    "lakefs://REPOSITORY/BRANCH/PATH",
                    parse=prefix_address,
                ),
            ),
            options=(
                Option(
                    "-s, --source", "What to upload, - for standard input", "FILE", required=True
                ),
                Option(_RECURSIVE, "Upload all files below a folder"),
                Option(
                    "--content-type",
                    "The type of the content",
                    "TYPE",
                    default="application/octet-stream",
                ),
                _parallelism(8),
            ),
            details="The object appears on the branch when all of it has arrived, as an "
            "uncommitted change. If the path ends with a slash, the name of the file is added.",
            examples=(
                "fs upload -s part-0.parquet lakefs://flights/fix-may/month=05/",
                "fs upload -r -s data/ lakefs://flights/main/",
                "fs upload -s - lakefs://flights/main/numbers.csv < numbers.csv",
            ),
        ),
        Command(
            "download",
            "Download an object, or all below a path",
            _later("download"),
            arguments=(
                PLACE,
                Argument("FILE", "The file or folder to write, by default here", optional=True),
            ),
            options=(
                Option(_RECURSIVE, "Download all objects below the path into a folder"),
                _parallelism(8),
            ),
            details="A file is replaced when all of its new content has arrived.",
            examples=(
                "fs download lakefs://flights/main/month=05/part-0.parquet",
                "fs download -r lakefs://flights/v1.0/ ./flights",
            ),
        ),
        Command(
            "rm",
            "Remove an object, or all below a path",
            _later("removal"),
            arguments=(
                Argument(
                    "PLACE",
                    "An object, or with --recursive all below a path: "
                    "lakefs://REPOSITORY/BRANCH/PATH",
                    parse=prefix_address,
                ),
            ),
            options=(
                Option(_RECURSIVE, "Remove all objects below the path"),
                Option(
                    "--concurrency", "How many requests at a time", "N", parse=positive, default=8
                ),
            ),
            details="The removal is an uncommitted change: `anabranch branch reset` undoes it.",
            examples=(
                "fs rm lakefs://flights/fix-may/month=05/part-0.parquet",
                "fs rm -r lakefs://flights/fix-may/month=05/",
            ),
        ),
    ),
)
