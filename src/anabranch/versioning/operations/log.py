"""The operation log of repositories: lists operations, and finds what a reference was at a
moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from anabranch.errors import Invalid, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore
from anabranch.model.page import Page, take_page
from anabranch.model.references.moment import AtOperation, parse_moment
from anabranch.model.references.operation import LoggedOperation
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.operations.record import (
    ID_LENGTH,
    LOG,
    SINCE,
    LogOwner,
    after_moment,
    log_key,
    operation_from,
    operations_partition,
    reference_key,
    reference_range,
)
from anabranch.versioning.records import keys, references

__all__ = ["OperationLog", "StoredOperation"]

_LOG_END = b"log0"


class StoredOperation(NamedTuple):
    """An operation, and the condition that it is in the log as it was read."""

    operation: LoggedOperation
    unchanged: Expect


class OperationLog:
    """The operation logs of all repositories. `clock` returns seconds since 1970."""

    def __init__(self, keyvalue: KeyValueStore, clock: Callable[[], float]) -> None:
        self._keyvalue = keyvalue
        self._clock = clock

    def list(self, owner: LogOwner, *, after: str = "", amount: int) -> Page[LoggedOperation]:
        """Returns a page of operations, the newest first: of those before `after`, or of all."""
        return take_page(self.all(owner, after=after), amount, lambda each: each.id)

    def all(self, owner: LogOwner, *, after: str = "") -> Iterator[LoggedOperation]:
        """Yields the operations that are older than `after`, or all, the newest first."""
        start = log_key(after) + b"\0" if after else LOG
        partition = operations_partition(owner.partition)
        for key, raw in self._keyvalue.scan(partition, start, _LOG_END):
            yield operation_from(key, raw)

    def get(self, owner: LogOwner, operation_id: str) -> LoggedOperation:
        """Returns an operation by its id, or by the beginning of it if no other begins so. Raises
        NotFound.
        """
        return self.read(owner, operation_id).operation

    def read(self, owner: LogOwner, operation_id: str) -> StoredOperation:
        """Returns an operation as `get` does, with its record. Raises NotFound."""
        if operation_id.isascii() and operation_id.isalnum() and len(operation_id) <= ID_LENGTH:
            start = log_key(operation_id)
            partition = operations_partition(owner.partition)
            found = list(self._keyvalue.scan(partition, start, start + b"g", limit=2))
            if len(found) == 1:
                return StoredOperation(operation_from(*found[0]), Expect(partition, *found[0]))
            if found:
                raise NotFound(
                    f"several operations have ids that begin with {operation_id}",
                    kind="operation_not_found",
                    hint="Write more of the id.",
                )
        raise NotFound("operation not found", kind="operation_not_found")

    def since(self, owner: LogOwner, operation_id: str) -> Iterator[StoredOperation]:
        """Yields the operations that are newer than one, the newest first, with their records."""
        partition = operations_partition(owner.partition)
        for row in self._keyvalue.scan(partition, LOG, log_key(operation_id)):
            yield StoredOperation(operation_from(*row), Expect(partition, *row))

    def last_deletion(self, repository: Repository, key: bytes) -> str | None:
        """Returns the id of the operation that was the last to delete the reference with a key, or
        None.
        """
        start, end = reference_range(key)
        partition = operations_partition(repository.partition)
        for found, commit_id in self._keyvalue.scan(partition, start, end):
            if not commit_id:
                return found[len(start) :].decode()
        return None

    def stored(self, owner: LogOwner, after: str, *, limit: int) -> Sequence[StoredOperation]:
        """Returns the operations that follow an id, newest first, with their records."""
        partition = operations_partition(owner.partition)
        rows = self._keyvalue.scan(partition, log_key(after) + b"\0", _LOG_END, limit=limit)
        return [StoredOperation(operation_from(*row), Expect(partition, *row)) for row in rows]

    def commit_named(self, repository: Repository, name: str, moment: str) -> str:
        """Returns the id of the commit that a branch or a tag named at a moment, which is a text as
        in `main@{2 hours ago}`.

        Raises Invalid for another text or a moment before the log begins, and NotFound if there was
        no such reference, or no such operation.
        """
        parsed = parse_moment(moment, self._clock())
        if isinstance(parsed, AtOperation):
            operation = self.get(repository, parsed.operation_id)
            at = operation.id
        else:
            self._require_logged(repository, parsed)
            at = after_moment(parsed)
        for stem in (keys.branch(name), keys.tag(name)):
            commit_id = self.commit_at(repository, stem, at)
            if commit_id:
                return commit_id
        raise NotFound(
            "not found",
            kind="reference_not_found",
            hint=f"There was no branch or tag {name!r} in {repository.id} at {moment}.",
        )

    def _require_logged(self, repository: Repository, moment: float) -> None:
        partition = operations_partition(repository.partition)
        since = int(self._keyvalue.get(partition, SINCE) or b"0") / 1e6
        if not since or moment < since:
            begun = datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds")
            raise Invalid(
                f"the operation log of {repository.id} does not reach back so far",
                kind="moment_not_logged",
                hint=f"It begins at {begun}." if since else "It is empty.",
            )

    def commit_at(self, repository: Repository, key: bytes, at: str) -> str:
        """Returns the commit of the reference with a key after the last operation that is not newer
        than `at`, which is an id or the beginning of one; empty if there was no such reference.
        """
        partition = operations_partition(repository.partition)
        start, end = reference_range(key)
        for _, commit_id in self._keyvalue.scan(partition, start + at.encode(), end, limit=1):
            return commit_id.decode()
        # not changed before: it was as the first change afterwards has found it, or as it is
        first = ""
        for found, _ in self._keyvalue.scan(partition, start, start + at.encode()):
            first = found[len(start) :].decode()
        if not first:
            raw = self._keyvalue.get(repository.partition, key)
            if raw is None:
                return ""
            is_tag = key.startswith(keys.tag(""))
            return (references.tag_from(raw) if is_tag else references.branch_from(raw)).commit_id
        for change in self.get(repository, first).changes:
            if reference_key(change) == key:
                return "" if change.before is None else change.before.commit_id
        return ""

    def kept_areas(self, repository: Repository) -> Iterator[str]:
        """Yields the staging areas that the operations of a repository have taken from branches."""
        for operation in self.all(repository):
            yield from operation.discarded

    def drop(self, repository: Repository) -> None:
        """Removes the log of a repository that is being deleted, without what it has kept."""
        self._keyvalue.drop(operations_partition(repository.partition))
