"""`pr`: list, create, show, comment on, review, merge and close pull requests."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.commits.merge import MERGE_OPTIONS, merge_body, send_merge
from anabranch.cli.commands.pulls.pr_discussion import (
    DISCUSSION,
    PULL_REQUEST,
    REPOSITORY,
    pull_path,
    seconds,
)
from anabranch.cli.commands.pulls.pr_reviewers import (
    REVIEWER_OPTIONS,
    REVIEWERS,
    reviewers_body,
    reviewers_text,
)
from anabranch.cli.framework.address import (
    address,
    ref_address,
    ref_or_name,
    same_repository,
)
from anabranch.cli.framework.command import Argument, Command, Group, Option, listing_options
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column
from anabranch.model.uri import LakeUri

__all__ = ["COMMAND"]

_COLUMNS = (
    Column("ID", "id"),
    Column("STATUS", ""),
    Column("SOURCE", "name"),
    Column("DESTINATION", "name"),
    Column("AUTHOR", ""),
    Column("CREATED", "time"),
    Column("TITLE", ""),
    Column("REVIEWERS", ""),
)
_DELETED = " (deleted; `anabranch branch restore` may bring it back)"


def _list(context: CommandContext) -> None:
    options = context.arguments
    pages = context.connection.pages(
        *("repositories", options.repository.repository, "pulls"),
        amount=options.amount,
        after=options.after or None,
        status="open" if options.waiting else options.state,
        waits_for_me="true" if options.waiting else None,
    )
    context.output.rows(
        _COLUMNS,
        pages,
        lambda item: (
            item["id"],
            item["status"],
            item["source_branch"],
            item["destination_branch"],
            item["author"],
            seconds(item["creation_date"]),
            item["title"],
            reviewers_text(item),
        ),
    )
    context.output.more(pages.next_offset)


def _create(context: CommandContext) -> None:
    source: LakeUri = context.arguments.source
    destination = same_repository(source.repository, context.arguments.destination)
    body = {
        "title": context.arguments.title,
        "description": context.arguments.description,
        "source_branch": source.ref,
        "destination_branch": destination,
        **reviewers_body("reviewers", context),
    }
    item = context.connection.send("POST", "repositories", source.repository, "pulls", body=body)
    context.output.done(
        f"Created pull request {context.output.paint(item['id'], 'id')}: "
        f"{address(source.repository, source.ref)} into {address(source.repository, destination)}",
        item,
    )


def _show(context: CommandContext) -> None:
    item = context.connection.get(*pull_path(context))
    reviews = context.connection.get(*pull_path(context), "reviews", amount=1)
    item["approvals"] = reviews["approvals"]
    item["required_approvals"] = reviews["required_approvals"]
    is_deleted = item["status"] == "open" and "commit_id" not in reviews
    details: list[tuple[str, Any, str]] = [
        ("Pull request", item["id"], "id"),
        ("Title", item["title"], ""),
        ("Status", item["status"], ""),
        ("Source", item["source_branch"] + is_deleted * _DELETED, "name"),
        ("Destination", item["destination_branch"], "name"),
        ("Author", item["author"], ""),
        ("Created", seconds(item["creation_date"]), "time"),
        ("Approvals", f"{item['approvals']} of {item['required_approvals']}", ""),
    ]
    if "reviewers" in item:
        details.append(("Reviewers", reviewers_text(item), ""))
    if "commit_id" in reviews:
        details.append(("Commit", reviews["commit_id"], "id"))
    if "closed_date" in item:
        details.append(("Closed", seconds(item["closed_date"]), "time"))
    if "merged_commit_id" in item:
        details.append(("Merged as", item["merged_commit_id"], "id"))
    if item["description"]:
        details.append(("Description", item["description"], ""))
    context.output.details(details, item)


def _merge(context: CommandContext) -> None:
    repository = context.arguments.repository.repository
    item = context.connection.get(*pull_path(context))
    send_merge(
        *(context, "PUT", (*pull_path(context), "merge"), merge_body(context)),
        source=LakeUri(repository, item["source_branch"]),
        destination=item["destination_branch"],
    )


def _close(context: CommandContext) -> None:
    _set_status(context, "closed", "Closed")


def _reopen(context: CommandContext) -> None:
    _set_status(context, "open", "Reopened")


def _set_status(context: CommandContext, status: str, done: str) -> None:
    context.connection.send("PATCH", *pull_path(context), body={"status": status})
    pull_id = context.output.paint(context.arguments.pull_request, "id")
    context.output.done(f"{done} pull request {pull_id}", {"id": context.arguments.pull_request})


_PULL = (REPOSITORY, PULL_REQUEST)

COMMAND = Group(
    "pr",
    "List, create, review and merge pull requests",
    (
        Command(
            "list",
            "List the pull requests of a repository, newest first",
            _list,
            arguments=(REPOSITORY,),
            options=(
                Option(
                    "--state",
                    "Show only pull requests in this state; merged ones are closed",
                    "STATE",
                    choices=("open", "closed", "all"),
                    default="open",
                ),
                Option("--waiting", "Show only open ones that wait for your review"),
                *listing_options("pull requests")[:2],
            ),
            examples=(
                "pr list lakefs://flights",
                "pr list lakefs://flights --state all",
                "pr list lakefs://flights --waiting",
            ),
        ),
        Command(
            "create",
            "Propose to merge a branch into another",
            _create,
            arguments=(
                Argument(
                    "SOURCE", "The branch to merge: lakefs://REPOSITORY/BRANCH", parse=ref_address
                ),
                Argument(
                    "DESTINATION",
                    "The branch to merge into, by address or bare name",
                    parse=ref_or_name,
                ),
            ),
            options=(
                Option("-t, --title", "The title", "TEXT", required=True),
                Option("-d, --description", "A longer description", "TEXT", default=""),
                *REVIEWER_OPTIONS,
            ),
            examples=(
                "pr create lakefs://flights/fix-may main -t 'Correct the delays of May'",
                "pr create lakefs://flights/fix-june main -t 'Add June' --reviewer bob",
            ),
        ),
        Command(
            "show",
            "Show a pull request, and how many approvals it has",
            _show,
            arguments=_PULL,
            examples=("pr show lakefs://flights 5g5dm07enmmt9bsa0rc0",),
        ),
        *REVIEWERS,
        *DISCUSSION,
        Command(
            "merge",
            "Merge a pull request",
            _merge,
            arguments=_PULL,
            options=MERGE_OPTIONS,
            examples=("pr merge lakefs://flights 5g5dm07enmmt9bsa0rc0",),
        ),
        Command(
            "close",
            "Close a pull request without merging it",
            _close,
            arguments=_PULL,
            examples=("pr close lakefs://flights 5g5dm07enmmt9bsa0rc0",),
        ),
        Command(
            "reopen",
            "Open a closed pull request again",
            _reopen,
            arguments=_PULL,
            examples=("pr reopen lakefs://flights 5g5dm07enmmt9bsa0rc0",),
        ),
    ),
)
