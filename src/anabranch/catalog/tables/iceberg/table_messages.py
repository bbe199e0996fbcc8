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
_SCHEMA = frozenset({"add-schema", "set-current-schema", "remove-schemas"})
_PARTITIONS = frozenset({"add-spec", "set-default-spec", "remove-partition-specs"})


def commit_message(commits: Sequence[TableCommit]) -> str:
    """Returns the message of the commit that commits to tables make together."""
    if len(commits) == 1:
        return f"Iceberg: {_verb(commits[0])} {commits[0].identifier}"
    names = ", ".join(str(commit.identifier) for commit in commits[:_NAMED])
    more = f" and {len(commits) - _NAMED} more" if len(commits) > _NAMED else ""
    return f"Iceberg: change {names}{more}"


def _verb(commit: TableCommit) -> str:
    if commit.creates:
        return "create"
    actions = [update.get("action") for update in commit.updates if isinstance(update, Mapping)]
    for update in commit.updates:
        snapshot = update.get("snapshot") if isinstance(update, Mapping) else None
        if isinstance(snapshot, Mapping):
            summary = snapshot.get("summary")
            operation = summary.get("operation") if isinstance(summary, Mapping) else None
            return _VERBS.get(str(operation), "commit to")
    if not _SCHEMA.isdisjoint(actions):
        return "change the schema of"
    if not _PARTITIONS.isdisjoint(actions):
        return "change the partitions of"
    if "remove-snapshots" in actions:
        return "expire snapshots of"
    return "change"
