"""`tag`: list, create, show, delete and restore tags."""

from __future__ import annotations

from anabranch.cli.errors import Failure
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
TAG = Argument("TAG", "The tag: lakefs://REPOSITORY/TAG", parse=ref_address)

_COLUMNS = (Column("TAG", "name"), Column("COMMIT", "id"))
_NOT_FOUND = 404


def _list(context: CommandContext) -> None:
    options = context.arguments
    pages = context.connection.pages(
        *("repositories", options.repository.repository, "tags"),
        amount=options.amount,
        after=options.after or None,
        prefix=options.prefix or None,
    )
    context.output.rows(_COLUMNS, pages, lambda item: (item["id"], item["commit_id"]))
    context.output.more(pages.next_offset)


def _create(context: CommandContext) -> None:
    tag = context.arguments.tag
    ref = same_repository(tag.repository, context.arguments.ref)
    if context.arguments.force:
        # the new target is looked up before the old tag is deleted
        ref = context.connection.get("repositories", tag.repository, "commits", ref)["id"]
        _remove_if_there(context, tag.repository, tag.ref)
    item = context.connection.send(
        *("POST", "repositories", tag.repository, "tags"), body={"id": tag.ref, "ref": ref}
    )
    place = address(tag.repository, tag.ref)
    context.output.done(f"Created {place} at {context.output.paint(item['commit_id'], 'id')}", item)


def _remove_if_there(context: CommandContext, repository: str, tag: str) -> None:
    try:
        context.connection.send("DELETE", "repositories", repository, "tags", tag)
    except Failure as failure:
        if failure.status != _NOT_FOUND:
            raise


def _show(context: CommandContext) -> None:
    tag = context.arguments.tag
    item = context.connection.get("repositories", tag.repository, "tags", tag.ref)
    context.output.details([("Tag", item["id"], "name"), ("Commit", item["commit_id"], "id")], item)


def _delete(context: CommandContext) -> None:
    tag = context.arguments.tag
    place = address(tag.repository, tag.ref)
    context.confirm(f"Delete the tag {place}?")
    context.connection.send("DELETE", "repositories", tag.repository, "tags", tag.ref)
    context.output.done(f"Deleted {place}")


def _restore(context: CommandContext) -> None:
    tag = context.arguments.tag
    item = context.connection.send(
        *("POST", "repositories", tag.repository, "tags", tag.ref, "restore")
    )
    place = address(tag.repository, tag.ref)
    commit = context.output.paint(item["changes"][0]["before"], "id")
    context.output.done(f"Restored {place} at {commit}", item)


COMMAND = Group(
    "tag",
    "List, create, show and delete tags",
    (
        Command(
            "list",
            "List the tags of a repository",
            _list,
            arguments=(REPOSITORY,),
            options=listing_options("tags"),
            examples=("tag list lakefs://flights",),
        ),
        Command(
            "create",
            "Create a tag",
            _create,
            arguments=(
                TAG,
                Argument(
                    "REF",
                    "The branch, tag or commit to tag: an address or a bare name",
                    parse=ref_or_name,
                ),
            ),
            options=(Option("-f, --force", "Move the tag if it exists"),),
            examples=("tag create lakefs://flights/v1.0 main",),
        ),
        Command(
            "show",
            "Show a tag",
            _show,
            arguments=(TAG,),
            examples=("tag show lakefs://flights/v1.0",),
        ),
        Command(
            "delete",
            "Delete a tag",
            _delete,
            arguments=(TAG,),
            options=(YES,),
            examples=("tag delete lakefs://flights/v1.0",),
        ),
        Command(
            "restore",
            "Bring a deleted tag back",
            _restore,
            arguments=(TAG,),
            examples=("tag restore lakefs://flights/v1.0",),
        ),
    ),
)
