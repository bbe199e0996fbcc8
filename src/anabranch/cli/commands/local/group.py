"""`local`: keep a folder in step with a path of a branch.

Each function is imported when its command runs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from anabranch.cli.commands.commits.merge import SETTLING_OPTIONS
from anabranch.cli.framework.address import prefix_address
from anabranch.cli.framework.command import YES, Argument, Command, Group, Option, positive
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.metadata import META
from anabranch.model.uri import LakeUri

__all__ = ["COMMAND"]


def _later(module: str, function: str = "run") -> Callable[[CommandContext], int | None]:
    """Returns a command's function that imports the module and calls its function."""

    def run(context: CommandContext) -> int | None:
        imported = import_module(f"anabranch.cli.commands.local.{module}")
        code: int | None = getattr(imported, function)(context)
        return code

    return run


def _ref(text: str) -> str | LakeUri:
    return prefix_address(text) if "://" in text else text


_ADDRESS = Argument(
    "ADDRESS", "The path: lakefs://REPOSITORY/BRANCH or …/BRANCH/PATH", parse=prefix_address
)
_DIR = Argument("DIR", "The folder [default: the current one]", optional=True)
_PARALLELISM = Option(
    "-p, --parallelism", "The number of concurrent transfers", "N", parse=positive, default=8
)
_GIT_IGNORE = Option(
    "--gitignore",
    "Whether to add the folder to .gitignore in a Git work tree",
    "BOOL",
    choices=("true", "false"),
    default="true",
)
_MERGED = (
    "The server merges objects that changed on both sides, by the rules of `_lakefs_merge.yaml` "
    "and those given. If conflicts remain, their paths are shown and nothing changes."
)

COMMAND = Group(
    "local",
    "Keep a folder in step with a path of a branch",
    (
        Command(
            "init",
            "Link a folder, whose files stay as they are",
            _later("init", "init"),
            arguments=(_ADDRESS, _DIR),
            options=(Option("--force", "Replace the folder's link"), _GIT_IGNORE),
            examples=("local init lakefs://flights/main/month=05/ ./may",),
        ),
        Command(
            "clone",
            "Link an empty folder and download the objects",
            _later("init", "clone"),
            arguments=(_ADDRESS, _DIR),
            options=(_GIT_IGNORE, _PARALLELISM),
            examples=("local clone lakefs://flights/fix-may/month=05/ ./may",),
        ),
        Command(
            "list",
            "List the linked folders below a folder",
            _later("status", "listing"),
            arguments=(_DIR,),
            examples=("local list",),
            connects=False,
        ),
        Command(
            "status",
            "Show what changed in the folder and on its branch",
            _later("status", "status"),
            arguments=(_DIR,),
            options=(Option("-l, --local", "Show only what changed in the folder"),),
            details="A file has changed if its size or its modification time differs from the "
            "object's.",
            examples=("local status ./may", "local status --local ./may"),
        ),
        Command(
            "pull",
            "Bring what changed on the branch into the folder",
            _later("pull"),
            arguments=(_DIR,),
            options=(
                *SETTLING_OPTIONS,
                Option("--force", "Discard local changes of the branch's objects"),
                _PARALLELISM,
            ),
            details=f"{_MERGED} The source is the branch, the destination the folder.",
            examples=("local pull ./may", "local pull ./may --resolve '*.csv=source-wins'"),
        ),
        Command(
            "commit",
            "Commit what changed in the folder to the branch",
            _later("commit"),
            arguments=(_DIR,),
            options=(
                Option("-m, --message", "What changed, and why", "TEXT", default=""),
                META,
                Option("--allow-empty-message", "Commit without a message"),
                *SETTLING_OPTIONS,
                Option("--force", "Commit uncommitted changes of the branch, too"),
                _PARALLELISM,
            ),
            details=f"{_MERGED} The source is the folder, the destination the branch.",
            examples=(
                "local commit ./may -m 'Correct the delays of May'",
                "local commit ./may -m 'Correct the delays' --strategy source-wins",
            ),
        ),
        Command(
            "checkout",
            "Bring the folder to the state of its branch, or of another reference",
            _later("checkout"),
            arguments=(_DIR,),
            options=(
                Option(
                    "-r, --ref",
                    "Another reference: a bare name or lakefs://REPOSITORY/REF",
                    "REF",
                    parse=_ref,
                ),
                Option("--all", "All linked folders below the folder"),
                YES,
                _PARALLELISM,
            ),
            details="Local changes of objects are discarded after a question. Files that are not "
            "objects stay.",
            examples=("local checkout ./may --ref main", "local checkout --all --yes"),
        ),
    ),
)
