"""`table history`: the commits that changed a table, and the snapshots that each of them brought.

A commit brings the snapshots that no older one has. Several of them, as of a merge or a table that
was registered, are as many rows; a commit without any, which changed the schema or removed
snapshots, is one, with the current snapshot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from anabranch.catalog.tables.iceberg.identifiers import Identifier, record_path
from anabranch.cli.client.table_catalog import Reference, TableCatalog
from anabranch.cli.commands.tables.catalog import NOT_FOUND, catalog_of, reference_of
from anabranch.cli.commands.tables.metadata import current_snapshot, snapshot_item, snapshots_of
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import TableAddress
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
        objects=[record_path(Identifier(address.namespace, address.name))],
    )
    commits = list(pages)
    with catalog_of(context) as catalog:
        states = _states(catalog, address, commits)
    items = _items(states, given.amount)
    context.output.rows(_COLUMNS, items, _cells)
    if len(commits) > given.amount:
        context.output.note("There are older commits: give a larger --amount")


def _states(
    catalog: TableCatalog, address: TableAddress, commits: list[dict[str, Any]]
) -> list[_State]:
    """Returns the states of the table, newest first. Raises Failure if there never was one."""
    head = _load(catalog, reference_of(address), address, is_required=not commits)
    states = [
        _State(commit, _load(catalog, Reference(address.repository, commit["id"]), address))
        for commit in commits
    ]
    committed = states[0].table if states else None
    if head is not None and _location(head) != _location(committed):
        states.insert(0, _State(None, head))
    return states


def _load(
    catalog: TableCatalog, at: Reference, address: TableAddress, *, is_required: bool = False
) -> dict[str, Any] | None:
    try:
        return catalog.load(at, address.namespace, address.name)
    except Failure as failure:
        if failure.status != NOT_FOUND or is_required:
            raise
        return None


def _location(table: dict[str, Any] | None) -> str | None:
    return None if table is None else table["metadata-location"]


def _items(states: list[_State], amount: int) -> list[dict[str, Any]]:
    """Returns the rows of the newest states, `amount` commits of them at most."""
    older: set[int] = set()
    rows: list[list[dict[str, Any]]] = []
    for state in reversed(states):
        metadata = {} if state.table is None else state.table["metadata"]
        snapshots = snapshots_of(metadata)
        brought = [each for number, each in snapshots.items() if number not in older]
        older.update(snapshots)
        current = current_snapshot(metadata)
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
        "snapshot": None if snapshot is None else snapshot_item(snapshot),
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
