"""The check that every record can be read."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.records.record_kinds import check_record

__all__ = ["CHECK", "check_records"]

CHECK = "records"
_BATCH = 1000


def check_records(inspected: Inspected, progress: Progress) -> Iterator[Finding]:
    """Yields the records that cannot be read."""
    progress.begin("reading the records", sum(inspected.rows.values()))
    stored = [*inspected.repositories, *inspected.in_deletion, *inspected.deleted]
    partitions = {repository.partition for repository in stored}
    for partition in inspected.rows:
        of_repository = partition in partitions
        number = 0
        for number, (key, value) in enumerate(inspected.store.scan(partition), 1):
            if number % _BATCH == 0:
                progress.advance(_BATCH)
            reason = check_record(partition, key, value, of_repository=of_repository)
            if reason:
                yield Finding(
                    *(CHECK, "record_unreadable", f"{partition} {printed_key(key)}"),
                    f"the record cannot be read: {reason}",
                )
        progress.advance(number % _BATCH)


def printed_key(key: bytes) -> str:
    """Returns a key as text, in which bytes that are no text are escaped."""
    return key.decode("utf-8", "backslashreplace")
