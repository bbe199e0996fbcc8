"""`fs`: list, read, upload, download and remove objects.

Each function is imported when its command runs, because downloading needs more modules than
listing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from anabranch.cli.framework.address import object_address, prefix_address, ref_or_name
from anabranch.cli.framework.command import YES, Argument, Command, Group, Option, positive
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.metadata import OBJECT_META, REPLACED_META

__all__ = ["COMMAND"]

OBJECT = Argument("OBJECT", "The object: lakefs://REPOSITORY/REF/PATH", parse=object_address)
PLACE = Argument(
    "PLACE",
    "An object, or with --recursive all objects below a path: lakefs://REPOSITORY/REF/PATH",
    parse=prefix_address,
)
_RECURSIVE = "-r, --recursive"


def _later(module: str, function: str = "run") -> Callable[[CommandContext], int | None]:
    """Returns a command's function that imports the module and calls its function."""

    def run(context: CommandContext) -> int | None:
        imported = import_module(f"anabranch.cli.commands.fs.{module}")
        code: int | None = getattr(imported, function)(context)
        return code

    return run


def _size(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _parallelism(default: int) -> Option:
    return Option(
        "-p, --parallelism",
        "The number of concurrent transfers",
        "N",
        parse=positive,
        default=default,
    )


_SOURCE_AND_DESTINATION = (
    Argument(
        "SOURCE",
        "An object, or a path that ends with a slash: lakefs://REPOSITORY/REF/PATH",
        parse=prefix_address,
    ),
    Argument(
        "DESTINATION", "Where it will be: lakefs://REPOSITORY/BRANCH/PATH", parse=prefix_address
    ),
)
_TRANSFER_OPTIONS = (
    Option(_RECURSIVE, "All objects below the path; a final slash means the same"),
    Option("--force", "Overwrite objects that exist at the destination"),
    Option(
        "--shallow",
        "Refer to the bytes of another repository, without which they are lost: the server copies "
        "no bytes",
    ),
)
_TRANSFER_DETAILS = (
    "Both are uncommitted changes. Within a repository the new objects refer to the bytes of the "
    "old ones. From another repository the server copies the bytes, or refers to them with "
    "--shallow: then the objects are lost when that repository is deleted with its data, and "
    "lakeFS cannot list them. An object that exists at the destination is not overwritten; nothing "
    "is changed then."
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
                    "PLACE",
                    "The path to list: lakefs://REPOSITORY/REF or …/REF/PATH",
                    parse=prefix_address,
                ),
            ),
            options=(
                Option(_RECURSIVE, "List objects in subfolders, too"),
                Option("--amount", "Show at most N objects; all by default", "N", parse=positive),
                Option("--after", "Show only objects after this one", "PATH", default=""),
            ),
            details="A folder is the part of paths up to a slash. A path that does not "
            "end with a slash lists everything with that prefix.",
            examples=("fs ls lakefs://flights/main/", "fs ls -r lakefs://flights/main/month=05/"),
        ),
        Command(
            "stat",
            "Show the metadata of an object",
            _later("stat"),
            arguments=(OBJECT,),
            examples=("fs stat lakefs://flights/main/month=05/part-0.parquet",),
        ),
        Command(
            "presign",
            "Print a URL by which an object is read without credentials",
            _later("presign"),
            arguments=(OBJECT,),
            details="The server decides for how long; `--json` prints until when, too.",
            examples=("fs presign lakefs://flights/main/month=05/part-0.parquet",),
        ),
        Command(
            "restore",
            "Make an object, or all objects below a path, what they were at a reference",
            _later("restore"),
            arguments=(
                Argument(
                    "PLACE",
                    "An object, or a path that ends with a slash: lakefs://REPOSITORY/BRANCH/PATH",
                    parse=prefix_address,
                ),
            ),
            options=(
                Option(
                    "-s, --source",
                    "The branch, tag, commit or expression to restore from",
                    "REF",
                    parse=ref_or_name,
                    required=True,
                ),
                Option(_RECURSIVE, "All objects below the path; a final slash means the same"),
                YES,
            ),
            details="Objects that have changed since, or are gone, are there again, and below a "
            "path those that were not there yet are removed. Both are uncommitted changes, and no "
            "bytes are copied.",
            examples=(
                "fs restore lakefs://flights/main/README.md --source main~1",
                "fs restore lakefs://flights/main/month=05/ --source v1.0 --yes",
            ),
        ),
        Command(
            "stage",
            "Make an object of the store an object of a branch, without copying it",
            _later("stage", "stage"),
            arguments=(OBJECT,),
            options=(
                Option("--location", "The address in the store", "URL", required=True),
                Option("--size", "Bytes", "N", parse=_size, required=True),
                Option("--checksum", "The ETag or another checksum", "TEXT", required=True),
                Option("--mtime", "When it was written, in seconds since 1970", "N", parse=_size),
                Option("--content-type", "The type of the content", "TYPE", default=""),
                OBJECT_META,
            ),
            details="The server believes size and checksum. It needs the permission that imports "
            "need.",
            examples=(
                "fs stage lakefs://r/main/a.csv --location s3://b/a.csv --size 9 --checksum 1f3a",
            ),
        ),
        Command(
            "update-metadata",
            "Replace the metadata of an object",
            _later("stage", "update_metadata"),
            arguments=(OBJECT,),
            options=(REPLACED_META,),
            details="The object has the given pairs then, and no others. That is an uncommitted "
            "change.",
            examples=("fs update-metadata lakefs://flights/main/README.md --metadata owner=ada",),
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
            "Upload a file, a folder or standard input",
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
                    "-s, --source",
                    "The file or folder to upload, - for standard input",
                    "FILE",
                    required=True,
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
            details="The object appears on the branch when the upload is complete, as an "
            "uncommitted change. If the path ends with a slash, the name of the file is added.",
            examples=(
                "fs upload -s part-0.parquet lakefs://flights/fix-may/month=05/",
                "fs upload -r -s data/ lakefs://flights/main/",
                "fs upload -s - lakefs://flights/main/numbers.csv < numbers.csv",
            ),
        ),
        Command(
            "download",
            "Download an object, or all objects below a path",
            _later("download"),
            arguments=(
                PLACE,
                Argument(
                    "FILE",
                    "The file or folder to write [default: the current folder]",
                    optional=True,
                ),
            ),
            options=(
                Option(_RECURSIVE, "Download all objects below the path into a folder"),
                _parallelism(8),
            ),
            details="A file is replaced when its new content is complete.",
            examples=(
                "fs download lakefs://flights/main/month=05/part-0.parquet",
                "fs download -r lakefs://flights/v1.0/ ./flights",
            ),
        ),
        Command(
            "mv",
            "Move an object, or all objects below a path",
            _later("move", "move"),
            arguments=_SOURCE_AND_DESTINATION,
            options=_TRANSFER_OPTIONS,
            details=_TRANSFER_DETAILS,
            examples=(
                "fs mv lakefs://flights/fix-may/a.parquet lakefs://flights/fix-may/month=05/",
                "fs mv -r lakefs://flights/fix-may/month=05/ lakefs://flights/fix-may/old/",
            ),
        ),
        Command(
            "cp",
            "Copy an object, or all objects below a path",
            _later("move", "copy"),
            arguments=_SOURCE_AND_DESTINATION,
            options=_TRANSFER_OPTIONS,
            details=_TRANSFER_DETAILS,
            examples=(
                "fs cp lakefs://flights/v1.0/README.md lakefs://flights/main/README.old.md",
                "fs cp -r lakefs://flights/main/month=05/ lakefs://archive/main/flights/",
            ),
        ),
        Command(
            "rm",
            "Remove an object, or all objects below a path",
            _later("rm"),
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
                    "--concurrency",
                    "The number of concurrent requests",
                    "N",
                    parse=positive,
                    default=8,
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
