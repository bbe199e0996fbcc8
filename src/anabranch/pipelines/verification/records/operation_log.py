"""The check of the operation log: each operation has a row in the index for each reference that it
changed, and each row an operation.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding, Mend
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.records.unreadable_records import printed_key
from anabranch.versioning.operations.record import (
    log_key,
    operation_writes,
    operations_partition,
)

__all__ = ["CHECK", "check_operations"]

CHECK = "operations"
_INDEX = b"by-reference/"


def check_operations(inspected: Inspected, progress: Progress) -> Iterator[Finding]:
    """Yields rows of the index that are missing, differ, or have no operation. Memory grows with
    the number of operations of one repository.
    """
    progress.begin("checking the operation log", 0)
    for repository in inspected.repositories:
        partition = operations_partition(repository.partition)
        expected: dict[bytes, bytes] = {}
        for operation in inspected.operations(repository):
            # the first write is that of the operation itself
            for _, key, value in operation_writes(repository.partition, operation)[1:]:
                expected[key] = value or b""
            progress.advance(1)
        yield from _compare(inspected, repository, partition, expected)


def _compare(
    inspected: Inspected, repository: Repository, partition: str, expected: dict[bytes, bytes]
) -> Iterator[Finding]:
    for key, value in inspected.store.scan(partition, _INDEX, upper_bound(_INDEX)):
        wanted = expected.pop(key, None)
        if wanted == value:
            continue
        subject = f"{repository.id} {printed_key(key)}"
        if wanted is not None:
            yield Finding(
                *(CHECK, "operation_index", subject),
                "a row of the operation log's index names another commit than its operation",
                Mend(
                    "write the row that the operation says",
                    [Write(partition, key, wanted)],
                    [Expect(partition, key, value)],
                ),
            )
            continue
        # the record of the operation may only be unreadable
        own = log_key(key.rpartition(b"\0")[2].decode("utf-8", "surrogateescape"))
        if inspected.store.get(partition, own) is None:
            yield Finding(
                *(CHECK, "operation_missing", subject),
                "the operation that a row of the operation log's index names does not exist",
                Mend(
                    "remove the row of the index",
                    [Write(partition, key, None)],
                    [Expect(partition, key, value), Expect(partition, own, None)],
                ),
            )
    for key, value in expected.items():
        own = log_key(key.rpartition(b"\0")[2].decode("utf-8", "surrogateescape"))
        yield Finding(
            *(CHECK, "operation_index", f"{repository.id} {printed_key(key)}"),
            "a row of the operation log's index is missing",
            Mend(
                "write the row that the operation says",
                [Write(partition, key, value)],
                [
                    Expect(partition, key, None),
                    Expect(partition, own, inspected.store.get(partition, own)),
                ],
            ),
        )
