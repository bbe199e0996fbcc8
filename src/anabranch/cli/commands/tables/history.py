"""`table history`: the commits that changed a table, and the snapshots that each of them brought.

A commit brings the snapshots that no older one has. Several of them, as of a merge or a table that
was registered, are as many rows; a commit without any, which changed the schema or removed
snapshots, is one, with the current snapshot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from anabranch.catalog.tables.iceberg.identifiers import Identifier, record_path
from anabranch.cli.client.table_catalog import TableCatalog
from anabranch.cli.commands.tables.catalog import NOT_FOUND, catalog_of, reference_of
from anabranch.cli.commands.tables.folders import find_folder_table, folder_table
from anabranch.cli.commands.tables.metadata import describe
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import TableAddress, joined
from anabranch.cli.output.table import Column

__all__ = ["run"]

_COLUMNS = (
    *(Column("COMMIT", "id"), Column("TIME", "time"), Column("COMMITTER"), Column("SNAPSHOT")),
    *(Column("OPERATION"), Column("ADDED", "number"), Column("ROWS", "number"), Column("MESSAGE")),
)


class _State(NamedTuple):
    """A commit, None for what is not committed, and the table there, None if it was dropped."""

    commit: dict[str, Any] | None
    table: dict[str, Any] | None


def run(context: CommandContext) -> None:
    """Shows the commits that changed a table, newest first, with the snapshots they brought."""
    given = context.arguments
    address: TableAddress = given.table
    pages = context.connection.pages(
        *("repositories", address.repository, "refs", address.ref, "commits"),
        amount=given.amount + 1,  # the oldest tells what the one after it brought
        **_paths(address),
    )
    commits = list(pages)
    with catalog_of(context) as catalog:
        states = _states(context, catalog, address, commits)
    items = _items(states, given.amount)
    context.output.rows(_COLUMNS, items, _cells)
    if len(commits) > given.amount:
        context.output.note("There are older commits: give a larger --amount")


def _paths(address: TableAddress) -> dict[str, list[str]]:
    """Returns the parameters of the commits that changed a table: its record, or its folder."""
    if address.folder:
        return {"prefixes": [address.folder]}
    return {"objects": [record_path(Identifier(address.namespace, address.name))]}


def _states(
    context: CommandContext,
    catalog: TableCatalog,
    address: TableAddress,
    commits: list[dict[str, Any]],
) -> list[_State]:
    """Returns the states of the table, newest first. Raises Failure if there never was one."""

    def load(ref: str, *, is_required: bool = False) -> dict[str, Any] | None:
        at = address._replace(ref=ref)
        if not at.folder:
            return _load(catalog, at, is_required=is_required)
        return folder_table(context, at) if is_required else find_folder_table(context, at)

    head = load(address.ref, is_required=not commits)
    states = [_State(commit, load(commit["id"])) for commit in commits]
    if head is not None and _state_of(head) != _state_of(states[0].table if states else None):
        states.insert(0, _State(None, head))
    return states


def _load(
    catalog: TableCatalog, address: TableAddress, *, is_required: bool = False
) -> dict[str, Any] | None:
    try:
        table = catalog.load(reference_of(address), address.namespace, address.name)
    except Failure as failure:
        if failure.status != NOT_FOUND or is_required:
            raise
        return None
    return describe(joined(address.parts), table)


def _state_of(table: dict[str, Any] | None) -> object:
    """Returns what differs between two states of a table: its metadata file, or its version."""
    if table is None:
        return None
    name = table["metadata_location"].rpartition("/")[2]
    return name, table["current_snapshot_id"]


def _items(states: list[_State], amount: int) -> list[dict[str, Any]]:
    """Returns the rows of the newest states, `amount` commits of them at most."""
    older: set[int] = set()
    rows: list[list[dict[str, Any]]] = []
    for state in reversed(states):
        table = state.table or {}
        snapshots = {each["snapshot_id"]: each for each in table.get("snapshots", ())}
        brought = [each for number, each in snapshots.items() if number not in older]
        older.update(snapshots)
        current = snapshots.get(table.get("current_snapshot_id") or 0)
        shown: list[dict[str, Any] | None] = [*brought[::-1]] or [current]
        rows.append([_item(state, each, is_new=bool(brought)) for each in shown])
    extra = len([state for state in states if state.commit is None])
    return [item for group in list(reversed(rows))[: amount + extra] for item in group]


def _item(state: _State, snapshot: dict[str, Any] | None, *, is_new: bool) -> dict[str, Any]:
    commit = state.commit or {}
    return {
        "commit_id": commit.get("id"),
        "creation_date": commit.get("creation_date"),
        "committer": commit.get("committer"),
        "message": commit.get("message", "(not committed)"),
        "dropped": state.table is None,
        "brings_snapshot": is_new,
        "snapshot": snapshot,
    }


def _cells(item: dict[str, Any]) -> tuple[Any, ...]:
    snapshot = item["snapshot"] or {}
    operation = "dropped" if item["dropped"] else None
    added = None
    if item["brings_snapshot"]:
        operation, added = snapshot["operation"], snapshot["added_rows"]
    message = next(iter(item["message"].splitlines()), "")
    return (
        *(item["commit_id"], item["creation_date"], item["committer"]),
        *(snapshot.get("snapshot_id"), operation, added, snapshot.get("rows"), message),
    )
