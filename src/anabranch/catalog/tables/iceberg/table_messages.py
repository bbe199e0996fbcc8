"""Messages of commits to tables: what an engine has done, in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anabranch.catalog.tables.iceberg.table_commits import TableCommit

__all__ = ["commit_message"]

_NAMED = 10
"""How many tables a message names."""

_VERBS = {
    "append": "append to",
    "overwrite": "overwrite in",
    "delete": "delete from",
    "replace": "rewrite files of",
}
_BY_ACTION = (
    ({"add-schema", "set-current-schema", "remove-schemas"}, "change the schema of"),
    ({"add-spec", "set-default-spec", "remove-partition-specs"}, "change the partitions of"),
    ({"remove-snapshots"}, "expire snapshots of"),
)


def commit_message(commits: Sequence[TableCommit]) -> str:
    """Returns the message of the commit that commits to tables make together."""
    if len(commits) == 1:
        return f"Iceberg: {_verb(commits[0])} {commits[0].identifier}"
    names = ", ".join(str(commit.identifier) for commit in commits[:_NAMED])
    more = f" and {len(commits) - _NAMED} more" if len(commits) > _NAMED else ""
    return f"Iceberg: change {names}{more}"


def _verb(commit: TableCommit) -> str:
    if commit.creates or commit.is_view:
        return "create" if commit.creates else "replace view"
    updates = [update for update in commit.updates if isinstance(update, Mapping)]
    operation = next((_operation(each) for each in updates if "snapshot" in each), None)
    if operation is not None:
        return _VERBS.get(operation, "commit to")
    actions = {str(update.get("action")) for update in updates}
    return next((verb for named, verb in _BY_ACTION if not named.isdisjoint(actions)), "change")


def _operation(update: Mapping[str, object]) -> str:
    """Returns the operation in the summary of a new snapshot."""
    snapshot = update["snapshot"]
    summary = snapshot.get("summary") if isinstance(snapshot, Mapping) else None
    return str(summary.get("operation")) if isinstance(summary, Mapping) else ""
