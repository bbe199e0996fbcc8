"""`repo`: list, create, show and delete repositories."""

from __future__ import annotations

from typing import Any

from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import address, repository_address
from anabranch.cli.framework.command import (
    NO_PROGRESS,
    YES,
    Argument,
    Command,
    Group,
    Option,
    listing_options,
)
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.jobs.purge import await_purge, format_purged
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)

_NAMESPACE = Argument("NAMESPACE", "The storage namespace, such as s3://bucket/folder")
_DEFAULT_BRANCH = Option(
    "-d, --default-branch", "The name of its default branch", "NAME", default="main"
)
_READ_ONLY = Option("--read-only", "Make it read-only: changes need --force")

_ID = Option("--id", "Which one, if several had this name: see `repo deleted`", "ID", default="")

_DELETED_COLUMNS = (
    Column("REPOSITORY", "name"),
    Column("ID", "id"),
    Column("DELETED", "time"),
    Column("BY"),
    Column("KEPT UNTIL", "time"),
)
_LEFT_COLUMNS = (
    Column("STORAGE NAMESPACE", "name"),
    Column("REPOSITORY"),
    Column("DELETED", "time"),
)
_COLUMNS = (
    Column("REPOSITORY", "name"),
    Column("CREATED", "time"),
    Column("DEFAULT BRANCH"),
    Column("STORAGE NAMESPACE"),
)


def _list(context: CommandContext) -> None:
    options = context.arguments
    pages = context.connection.pages(
        "repositories",
        amount=options.amount,
        after=options.after or None,
        prefix=options.prefix or None,
    )
    context.output.rows(_COLUMNS, pages, _cells)
    context.output.more(pages.next_offset)


def _cells(item: dict[str, Any]) -> tuple[Any, ...]:
    return item["id"], item["creation_date"], item["default_branch"], item["storage_namespace"]


def _create(context: CommandContext) -> None:
    body = _creation(context) | {"sample_data": context.arguments.sample_data}
    repository = context.connection.send("POST", "repositories", body=body)
    name, namespace = address(repository["id"]), repository["storage_namespace"]
    context.output.done(f"Created {name} in {namespace}", repository)


def _create_bare(context: CommandContext) -> None:
    repository = context.connection.send(
        "POST", "repositories", body=_creation(context), bare="true"
    )
    name, namespace = address(repository["id"]), repository["storage_namespace"]
    context.output.done(f"Created the bare repository {name} in {namespace}", repository)


def _creation(context: CommandContext) -> dict[str, Any]:
    options = context.arguments
    return {
        "name": options.repository.repository,
        "storage_namespace": options.namespace,
        "default_branch": options.default_branch,
        "read_only": options.read_only,
    }


def _show(context: CommandContext) -> None:
    item = context.connection.get("repositories", context.arguments.repository.repository)
    pairs = [
        ("Repository", item["id"], "name"),
        ("Created", item["creation_date"], "time"),
        ("Default branch", item["default_branch"], ""),
        ("Storage namespace", item["storage_namespace"], ""),
    ]
    if item.get("read_only"):
        pairs.append(("Read-only", "yes", ""))
    context.output.details(pairs, item)


def _delete(context: CommandContext) -> None:
    place = address(context.arguments.repository.repository)
    name = context.arguments.repository.repository
    if context.arguments.purge and context.arguments.forget:
        raise Usage("--forget and --purge exclude each other", hint="--purge forgets it, too.")
    if not context.arguments.purge:
        context.confirm(f"Delete the repository {place} with all its branches, tags and commits?")
        context.connection.send("DELETE", "repositories", name)
        if context.arguments.forget:
            context.connection.send(
                *("POST", "storage", "deleted_repositories", name, "forget"), body={}
            )
        context.output.done(f"Deleted {place}")
        return
    namespace = context.connection.get("repositories", name)["storage_namespace"]
    context.confirm(
        f"Delete the repository {place} and all its data in {namespace} permanently? Another "
        "installation that uses them, such as the lakeFS they come from, would lose them."
    )
    purge = context.connection.send("POST", "repositories", name, "purge")
    result = await_purge(context, purge)
    context.output.done(f"Deleted {place}: {format_purged(result)}", result)


def _deleted(context: CommandContext) -> None:
    items = context.connection.get("storage", "deleted_repositories")["results"]
    context.output.rows(_DELETED_COLUMNS, items, _deleted_cells)


def _deleted_cells(item: dict[str, Any]) -> tuple[Any, ...]:
    return (
        *(item["id"], item["instance_uid"], item["deleted_at"], item["deleted_by"]),
        item["kept_until"],
    )


def _restore(context: CommandContext) -> None:
    options = context.arguments
    name = options.repository.repository
    item = context.connection.send(
        *("POST", "storage", "deleted_repositories", name, "restore"),
        body={"instance_uid": options.id},
    )
    context.output.done(f"Restored {address(name)}", item)


def _forget(context: CommandContext) -> None:
    options = context.arguments
    name = options.repository.repository
    context.confirm(f"Remove what is kept of the deleted repository {address(name)} permanently?")
    context.connection.send(
        *("POST", "storage", "deleted_repositories", name, "forget"),
        body={"instance_uid": options.id},
    )
    context.output.done(f"{address(name)} can no longer be restored")


def _namespaces(context: CommandContext) -> None:
    items = context.connection.get("storage", "namespaces")["results"]
    context.output.rows(_LEFT_COLUMNS, items, _left_cells)


def _left_cells(item: dict[str, Any]) -> tuple[Any, ...]:
    return item["storage_namespace"], item["repository"], item["deleted_at"]


def _purge(context: CommandContext) -> None:
    namespace = context.arguments.namespace
    context.confirm(
        f"Remove the data of the deleted repository in {namespace} permanently? Another "
        "installation that uses them, such as the lakeFS they come from, would lose them."
    )
    purge = context.connection.send(
        *("POST", "storage", "namespaces", "purges"), body={"storage_namespace": namespace}
    )
    result = await_purge(context, purge)
    context.output.done(f"Purged {namespace}: {format_purged(result)}", result)


COMMAND = Group(
    "repo",
    "List, create, show and delete repositories",
    (
        Command(
            "list",
            "List the repositories",
            _list,
            options=listing_options("repositories"),
            examples=("repo list", "repo list --prefix sales --json"),
        ),
        Command(
            "create",
            "Create a repository",
            _create,
            arguments=(REPOSITORY, _NAMESPACE),
            options=(
                _DEFAULT_BRANCH,
                Option("--sample-data", "Add a few sample objects"),
                _READ_ONLY,
            ),
            examples=("repo create lakefs://flights local://flights",),
        ),
        Command(
            "create-bare",
            "Create a repository without a commit or a branch",
            _create_bare,
            arguments=(REPOSITORY, _NAMESPACE),
            options=(_DEFAULT_BRANCH, _READ_ONLY),
            details="It is for `refs restore`, so its storage namespace may be in use already.",
            examples=("repo create-bare lakefs://flights s3://lake/flights",),
        ),
        Command(
            "show",
            "Show a repository",
            _show,
            arguments=(REPOSITORY,),
            examples=("repo show lakefs://flights",),
        ),
        Command(
            "delete",
            "Delete a repository",
            _delete,
            arguments=(REPOSITORY,),
            options=(
                YES,
                Option("--purge", "Remove its data from the store, too, unless they are in use"),
                Option("--forget", "Keep nothing with which it could be restored"),
                NO_PROGRESS,
            ),
            details="`repo restore` brings it back for as many days as its operations can be "
            "undone. The objects stay in the store. With --purge they are removed if nothing in "
            "another repository refers to them; else nothing is deleted.",
            examples=("repo delete lakefs://flights", "repo delete lakefs://flights --purge"),
        ),
        Command(
            "deleted",
            "List the deleted repositories that can be restored",
            _deleted,
            examples=("repo deleted",),
        ),
        Command(
            "restore",
            "Restore a deleted repository",
            _restore,
            arguments=(REPOSITORY,),
            options=(_ID,),
            details="It has its branches, tags, settings, pull requests and uncommitted changes "
            "again. Another repository must have neither its name nor its storage namespace.",
            examples=("repo restore lakefs://flights",),
        ),
        Command(
            "forget",
            "Remove what is kept of a deleted repository",
            _forget,
            arguments=(REPOSITORY,),
            options=(_ID, YES),
            details="For what must be erased. Its objects stay in the store: `repo purge` removes "
            "them.",
            examples=("repo forget lakefs://flights",),
        ),
        Command(
            "namespaces",
            "List the storage namespaces in which deleted repositories have left data",
            _namespaces,
            examples=("repo namespaces",),
        ),
        Command(
            "purge",
            "Remove the data that a deleted repository has left in its storage namespace",
            _purge,
            arguments=(_NAMESPACE,),
            options=(YES, NO_PROGRESS),
            details="The data are removed permanently, if nothing in another repository refers to "
            "them. A purge that was interrupted is completed.",
            examples=("repo purge s3://lake/flights",),
        ),
    ),
)
