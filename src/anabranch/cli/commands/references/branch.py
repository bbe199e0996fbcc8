"""`branch`: list, create, show, expire, delete, restore, reset and revert branches."""

from __future__ import annotations

from anabranch.cli.commands.commits.revert import REVERT
from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import (
    address,
    ref_address,
    ref_or_name,
    repository_address,
    same_repository,
)
from anabranch.cli.framework.command import YES, Argument, Command, Group, Option, listing_options
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)
BRANCH = Argument("BRANCH", "The branch: lakefs://REPOSITORY/BRANCH", parse=ref_address)

_COLUMNS = (Column("BRANCH", "name"), Column("COMMIT", "id"))
_EXPIRING = (Column("BRANCH", "name"), Column("EXPIRES", "time"), Column("COMMIT", "id"))
_UNMERGED = (
    Column("BRANCH", "name"),
    Column("LAST COMMIT", "time"),
    Column("OBJECTS", "number"),
    Column("SIZE", "size"),
)
_MAX_UNMERGED = 1000
_NEVER = "never"


def _list(context: CommandContext) -> None:
    options = context.arguments
    path = "repositories", options.repository.repository, "branches"
    if options.sort and not options.unmerged:
        raise Usage("--sort is an order of --unmerged", hint="Add --unmerged.")
    if options.unmerged:
        _list_unmerged(context)
        return
    if options.expiring:
        _list_expiring(context, path)
        return
    pages = context.connection.pages(
        *path,
        amount=options.amount,
        after=options.after or None,
        prefix=options.prefix or None,
    )
    context.output.rows(_COLUMNS, pages, lambda item: (item["id"], item["commit_id"]))
    context.output.more(pages.next_offset)


def _list_expiring(context: CommandContext, path: tuple[str, ...]) -> None:
    """Shows the branches that end: of all, the first ones to end."""
    options = context.arguments
    pages = context.connection.pages(
        *path, after=options.after or None, prefix=options.prefix or None, include_expiry=True
    )
    ending = sorted((item["expires_at"], item["id"], item) for item in pages if item["expires_at"])
    items = [item for *_, item in ending[: options.amount]]
    context.output.rows(
        _EXPIRING, items, lambda item: (item["id"], item["expires_at"], item["commit_id"])
    )


def _list_unmerged(context: CommandContext) -> None:
    """Shows the branches that the default branch does not have, the oldest or largest first."""
    options = context.arguments
    if options.expiring or options.after or options.prefix:
        raise Usage(
            "--unmerged excludes --expiring, --after and --prefix",
            hint="Show more of them with --amount.",
        )
    found = context.connection.get(
        *("repositories", options.repository.repository, "unmerged_branches"),
        sort=options.sort or "age",
        amount=min(options.amount, _MAX_UNMERGED),
    )
    context.output.rows(
        _UNMERGED,
        found["results"],
        lambda item: (item["branch"], item["changed_at"], item["objects"], item["bytes"]),
    )
    if not found["complete"]:
        context.output.warn(["There are more branches, or larger ones, than were looked at."])


def _create(context: CommandContext) -> None:
    branch = context.arguments.branch
    source = same_repository(branch.repository, context.arguments.source)
    commit = context.connection.send(
        *("POST", "repositories", branch.repository, "branches"),
        body={"name": branch.ref, "source": source, "expires": context.arguments.expires},
    )
    commit = str(commit).strip()
    place = address(branch.repository, branch.ref)
    context.output.done(
        f"Created {place} at {context.output.paint(commit, 'id')}",
        {"id": branch.ref, "commit_id": commit},
    )


def _show(context: CommandContext) -> None:
    branch = context.arguments.branch
    item = context.connection.get(
        *("repositories", branch.repository, "branches", branch.ref), include_expiry=True
    )
    details = [("Branch", item["id"], "name"), ("Commit", item["commit_id"], "id")]
    if item["expires_at"]:
        details.append(("Expires", item["expires_at"], "time"))
    context.output.details(details, item)


def _expire(context: CommandContext) -> None:
    branch, expires = context.arguments.branch, context.arguments.time
    item = context.connection.send(
        *("PUT", "repositories", branch.repository, "branches", branch.ref, "expiry"),
        body={"expires": "" if expires == _NEVER else expires},
    )
    place = address(branch.repository, branch.ref)
    end = f"ends in {expires}" if item["expires_at"] else "stays"
    context.output.done(f"{place} {end}", item)


def _delete(context: CommandContext) -> None:
    branch = context.arguments.branch
    place = address(branch.repository, branch.ref)
    context.confirm(f"Delete the branch {place} and its uncommitted changes?")
    context.connection.send("DELETE", "repositories", branch.repository, "branches", branch.ref)
    context.output.done(f"Deleted {place}")


def _restore(context: CommandContext) -> None:
    branch = context.arguments.branch
    item = context.connection.send(
        *("POST", "repositories", branch.repository, "branches", branch.ref, "restore")
    )
    place = address(branch.repository, branch.ref)
    commit = context.output.paint(item["changes"][0]["before"], "id")
    context.output.done(f"Restored {place} at {commit}", item)


def _reset(context: CommandContext) -> None:
    options = context.arguments
    branch = options.branch
    if sum(map(bool, (options.prefix, options.object, options.to))) > 1:
        raise Usage("--prefix, --object and --to exclude each other", hint="Give one of them.")
    place = address(branch.repository, branch.ref)
    if options.to:
        _move(context, place, same_repository(branch.repository, options.to))
        return
    if options.object:
        body, what = {"type": "object", "path": options.object}, f"of {options.object!r} "
    elif options.prefix:
        body, what = {"type": "common_prefix", "path": options.prefix}, f"below {options.prefix!r} "
    else:
        body, what = {"type": "reset"}, ""
    context.confirm(f"Discard the uncommitted changes {what}on {place}?")
    context.connection.send(
        *("PUT", "repositories", branch.repository, "branches", branch.ref), body=body
    )
    context.output.done(f"Discarded the uncommitted changes {what}on {place}")


def _move(context: CommandContext, place: str, ref: str) -> None:
    """Moves a branch to another commit."""
    branch = context.arguments.branch
    context.confirm(f"Move {place} to {ref}? Commits that only the branch has will expire.")
    context.connection.send(
        *("PUT", "repositories", branch.repository, "branches", branch.ref, "hard_reset"), ref=ref
    )
    path = ("repositories", branch.repository, "branches", branch.ref)
    head = context.connection.get(*path)["commit_id"]
    context.output.done(f"Moved {place} to {context.output.paint(head, 'id')}", {"commit_id": head})


COMMAND = Group(
    "branch",
    "List, create, show, expire, delete and reset branches; revert commits",
    (
        Command(
            "list",
            "List the branches of a repository",
            _list,
            arguments=(REPOSITORY,),
            options=(
                *listing_options("branches"),
                Option("--expiring", "Show only branches that end, and when; the first ones first"),
                Option(
                    "--unmerged",
                    "Show only branches with commits that the default branch does not have, with "
                    "what they have added and changed",
                ),
                Option(
                    "--sort",
                    "The order of --unmerged: the oldest last commit first, which is the default, "
                    "or the largest branch first",
                    "ORDER",
                    choices=("age", "size"),
                ),
            ),
            examples=(
                "branch list lakefs://flights",
                "branch list lakefs://flights --unmerged --sort size --amount 10",
            ),
        ),
        Command(
            "create",
            "Create a branch",
            _create,
            arguments=(BRANCH,),
            options=(
                Option(
                    "-s, --source",
                    "The branch, tag or commit to start from: an address or a bare name",
                    "REF",
                    parse=ref_or_name,
                    required=True,
                ),
                Option(
                    "--expires",
                    "How long the branch lives, such as 7d, or 'never'; by default as the rules of "
                    "branch-ends say, else forever",
                    "TIME",
                    default="",
                ),
            ),
            examples=(
                "branch create lakefs://flights/fix-may --source main",
                "branch create lakefs://flights/try --source main --expires 7d",
                "branch create lakefs://flights/fix-may --source lakefs://flights/main~2",
            ),
        ),
        Command(
            "show",
            "Show a branch",
            _show,
            arguments=(BRANCH,),
            examples=("branch show lakefs://flights/main",),
        ),
        Command(
            "expire",
            "Change when a branch ends",
            _expire,
            arguments=(
                BRANCH,
                Argument("TIME", "How long it lives from now on, such as 7d, or 'never'"),
            ),
            details="From its end on, a branch cannot be changed; it is deleted soon after, unless "
            "it is the source of an open pull request.",
            examples=(
                "branch expire lakefs://flights/try 7d",
                "branch expire lakefs://flights/try never",
            ),
        ),
        Command(
            "delete",
            "Delete a branch with its uncommitted changes",
            _delete,
            arguments=(BRANCH,),
            options=(YES,),
            examples=("branch delete lakefs://flights/fix-may",),
        ),
        Command(
            "restore",
            "Bring a deleted branch back with its uncommitted changes",
            _restore,
            arguments=(BRANCH,),
            examples=("branch restore lakefs://flights/fix-may",),
        ),
        Command(
            "reset",
            "Discard uncommitted changes of a branch, or move it to another commit",
            _reset,
            arguments=(BRANCH,),
            options=(
                Option("--prefix", "Discard only changes of objects with this prefix", "PREFIX"),
                Option("--object", "Discard only the change of this object", "PATH"),
                Option(
                    "--to",
                    "Move the branch, which has no uncommitted changes, to the commit of this "
                    "reference (a hard reset)",
                    "REF",
                    parse=ref_or_name,
                ),
                YES,
            ),
            examples=(
                "branch reset lakefs://flights/fix-may",
                "branch reset lakefs://flights/fix-may --prefix month=05/ --yes",
                "branch reset lakefs://flights/fix-may --to main~1",
            ),
        ),
        REVERT,
    ),
)
