"""Which commits of two sides conflict, by Delta's rules for concurrent transactions.

The destination's commits come first. A commit of the source conflicts with them if it touches the
same files, or if it depends on rows that they changed. With Delta's isolation level Serializable,
rows that they appended count as changed; with WriteSerializable, they do not, as if the commit of
the source had come before them.

Delta knows what a transaction has read. A log has only traces of it: appends say whether they have
read the table, and operations name their predicate.

Source: the Delta documentation, "Concurrency control", and the protocol, sections "Add File and
Remove File", "Transaction Identifiers", "Domain Metadata".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from anabranch.versioning.strategies.contract import ContentConflict
from anabranch.versioning.strategies.delta.commit import LogCommit
from anabranch.versioning.strategies.delta.fork import Fork
from anabranch.versioning.strategies.delta.table_state import (
    IsolationLevel,
    Partition,
    TableState,
)

__all__ = ["find_conflicts"]

_MAX_CONFLICTS = 1000
_REWRITES = ("DELETE", "MERGE", "UPDATE")


class _Everything:
    """All partitions of a table."""


_EVERYTHING = _Everything()
_Region = _Everything | frozenset[Partition]


def find_conflicts(
    fork: Fork, state: TableState, isolation: IsolationLevel
) -> Sequence[ContentConflict]:
    """Returns the first conflicts of two sides, given the table's state where their logs fork. With
    the level `snapshot`, it is no conflict if one side depends on rows that the other changed.
    """
    if not fork.source or not fork.destination:
        return []
    found = itertools.chain(
        _table_conflicts(fork, state),
        _shared_conflicts(fork),
        _file_conflicts(fork),
        _read_conflicts(fork, state, isolation) if isolation != "snapshot" else (),
    )
    return list(itertools.islice(found, _MAX_CONFLICTS))


def _conflict(
    message: str, source: LogCommit | None, destination: LogCommit | None, **key: str
) -> ContentConflict:
    commit = source or destination
    assert commit is not None  # noqa: S101  one of them is given
    return ContentConflict(
        key={"version": commit.version, **key},
        source=_describe(source),
        destination=_describe(destination),
        message=message,
    )


def _describe(commit: LogCommit | None) -> dict[str, object] | None:
    if commit is None:
        return None
    return {"version": commit.version, "operation": commit.operation}


def _table_conflicts(fork: Fork, state: TableState) -> Iterator[ContentConflict]:
    """Yields the changes of the protocol and the metadata; the other side's commits were made
    without them.
    """
    messages = {
        "protocol": "the {} changed the table's protocol, and the other side wrote to the table",
        "metaData": (
            "the {} changed the table's schema or properties, and the other side wrote to the table"
        ),
    }
    for commit in fork.source:
        for part in state.changes(commit):
            yield _conflict(messages[part].format("source"), commit, None, action=part)
    for commit in fork.destination:
        for part in state.changes(commit):
            yield _conflict(messages[part].format("destination"), None, commit, action=part)


def _shared_conflicts(fork: Fork) -> Iterator[ContentConflict]:
    """Yields the applications and the domains of metadata that both sides have advanced."""
    by_application = {name: each for each in fork.destination for name in each.applications}
    by_domain = {name: each for each in fork.destination for name in each.domains}
    for commit in fork.source:
        for name in sorted(commit.applications & by_application.keys()):
            message = f"the application {name!r} wrote to both sides"
            yield _conflict(message, commit, by_application[name], application=name)
        for name in sorted(commit.domains & by_domain.keys()):
            message = f"both sides changed the metadata of the domain {name!r}"
            yield _conflict(message, commit, by_domain[name], domain=name)


def _file_conflicts(fork: Fork) -> Iterator[ContentConflict]:
    """Yields the files that both sides removed or added."""
    touched = {file: commit for commit in fork.destination for file in commit.files}
    for commit in fork.source:
        for file in sorted(commit.files & touched.keys()):
            yield _conflict(
                "both sides removed or replaced the file", commit, touched[file], file=file
            )


def _read_conflicts(
    fork: Fork, state: TableState, isolation: IsolationLevel
) -> Iterator[ContentConflict]:
    """Yields, for each commit of the source that depends on rows which the destination has changed,
    the first commit that changed them.
    """
    changes = [
        (commit, _changed_region(commit, state))
        for commit in fork.destination
        if _changes_data(commit) and (isolation == "serializable" or not _is_append(commit))
    ]
    for commit in fork.source:
        region = _read_region(commit, state)
        for other, changed in changes:
            if _overlap(region, changed):
                yield _conflict(
                    "the source's operation depends on rows of the table that the destination "
                    "changed",
                    *(commit, other),
                )
                break


def _overlap(one: _Region, other: _Region) -> bool:
    if isinstance(one, _Everything):
        return isinstance(other, _Everything) or bool(other)
    if isinstance(other, _Everything):
        return bool(one)
    return not one.isdisjoint(other)


def _changes_data(commit: LogCommit) -> bool:
    return any(action.data_change for action in (*commit.adds, *commit.removes))


def _is_append(commit: LogCommit) -> bool:
    """Returns whether a commit adds rows that depend on no others of the table."""
    parameters = commit.info.get("operationParameters")
    mode = parameters.get("mode") if isinstance(parameters, dict) else None
    return not (
        commit.removes
        or commit.info.get("isBlindAppend") is False
        or commit.operation in _REWRITES
        or str(mode).lower() == "overwrite"
    )


def _changed_region(commit: LogCommit, state: TableState) -> _Region:
    """Returns the partitions in which a commit changes rows."""
    actions = [each for each in (*commit.adds, *commit.removes) if each.data_change]
    return _all_known(state.partition(action) for action in actions)


def _read_region(commit: LogCommit, state: TableState) -> _Region:
    """Returns the partitions whose rows a commit depends on. Those of an operation whose predicate
    names partition columns only are the ones that it changed.
    """
    if _is_append(commit) or not _changes_data(commit):
        return frozenset()
    if not (commit.removes or commit.adds):
        return frozenset()
    parameters = commit.info.get("operationParameters")
    given = parameters if isinstance(parameters, dict) else {}
    is_dynamic = str(given.get("isDynamicPartitionOverwrite")).lower() == "true"
    by_partition = commit.operation in ("WRITE", "DELETE", "UPDATE") and _names_partitions_only(
        str(given.get("predicate", "")), state
    )
    return _changed_region(commit, state) if is_dynamic or by_partition else _EVERYTHING


def _names_partitions_only(predicate: str, state: TableState) -> bool:
    return any(_names(predicate, name) for name in state.partition_columns) and not any(
        _names(predicate, name) for name in state.data_columns
    )


def _names(predicate: str, column: str) -> bool:
    pattern = rf"(?<!\w){re.escape(column)}(?!\w)"
    return re.search(pattern, predicate, re.IGNORECASE) is not None


def _all_known(partitions: Iterable[Partition | None]) -> _Region:
    known = set(partitions)
    if None in known:
        return _EVERYTHING
    return frozenset(each for each in known if each is not None)
